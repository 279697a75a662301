"""Test sets: is mine right (`audit`), and how do I get one (`generate`)?"""
