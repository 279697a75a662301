"""Finding passages: documents to chunks, BM25, dense and hybrid search, and existing vector stores."""
