// Package interop proves that one conversation can visit all providers: it has tests and nothing else. Each provider is a
// server that validates requests as the real one does, and refuses thinking, signatures, items and IDs that it did not
// give, or that come back changed.
package interop
