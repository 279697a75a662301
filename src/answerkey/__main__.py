"""`python -m answerkey` is `answerkey`."""

from answerkey.cli.entry import main

if __name__ == "__main__":
    main()
