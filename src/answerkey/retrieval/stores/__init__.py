"""Vector stores that exist already: FAISS index files and Qdrant collections."""
