"""`python -m answerkey` is `answerkey`."""

from answerkey.cli.main import main

if __name__ == "__main__":
    main()
