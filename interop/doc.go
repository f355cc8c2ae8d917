// Package interop has tests of Weft's servers with the clients of others: SDKs of Go and of npm, under Node. It is outside
// of the workspace, for their dependencies. make interop installs what it needs and runs it; a test whose client is not
// there skips.
package interop
