"""`python -m answerkey` is `answerkey`."""

from answerkey.cli.entry import start

if __name__ == "__main__":
    start()
