"""Test cases made from documents: offline from what people wrote, or with a judge model."""
