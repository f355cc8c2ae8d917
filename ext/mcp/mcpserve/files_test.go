package mcpserve_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/filesystem"
	"github.com/weftgo/weft/ext/mcp/mcpserve"
)

// brokenFiles cannot be read.
type brokenFiles struct{ filesystem.Backend }

func (brokenFiles) Read(context.Context, *filesystem.ReadRequest) (*filesystem.FileContent, error) {
	return nil, errors.New("canary")
}

func (brokenFiles) GlobInfo(context.Context, *filesystem.GlobInfoRequest) ([]filesystem.FileInfo, error) {
	panic("canary")
}

// Files below the root are listed and read as they are, and nothing leads to others.
// Rule mcp/MS8.
func TestFiles_AreResourcesForReading(t *testing.T) {
	backend := filesystem.NewInMemoryBackend()
	write := func(file, text string) {
		require.NoError(t, backend.Write(t.Context(), &filesystem.WriteRequest{FilePath: file, Content: text}))
	}
	write("/docs/a b.md", "# A")
	write("/docs/deep/data.bin", "\xff\x00")
	write("/docs/large.txt", strings.Repeat("x", 101))
	write("/secret.txt", "canary")
	s := newServer(t, mcpserve.Config{MaxText: 100})
	require.NoError(t, s.AddFiles(mcpserve.FilesOptions{Name: "docs", Backend: backend, Root: "docs"}))
	require.ErrorContains(t, s.AddFiles(mcpserve.FilesOptions{Name: "a/b", Backend: backend}), "lower-case letters")
	require.ErrorContains(t, s.AddFiles(mcpserve.FilesOptions{Name: "docs"}), "backend is nil")
	c := connect(t, s, mcpserve.HTTPOptions{}, nil)
	list := func() (all []string) {
		found, err := c.ListResources(t.Context(), nil)
		require.NoError(t, err)
		for _, r := range found.Resources {
			all = append(all, r.URI)
		}
		return all
	}
	require.Equal(t, []string{"files://docs/a%20b.md", "files://docs/deep/data.bin", "files://docs/large.txt"}, list())
	read := func(uri string) (*mcp.ResourceContents, error) {
		r, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		if err != nil {
			return nil, err
		}
		require.Len(t, r.Contents, 1)
		return r.Contents[0], nil
	}
	text, err := read("files://docs/a%20b.md")
	require.NoError(t, err)
	require.Equal(t, "# A", text.Text)
	require.Equal(t, "files://docs/a%20b.md", text.URI)
	blob, err := read("files://docs/deep/data.bin")
	require.NoError(t, err)
	require.Equal(t, []byte("\xff\x00"), blob.Blob)
	_, err = read("files://docs/large.txt")
	require.ErrorContains(t, err, "too large")
	for _, bad := range []string{"files://docs/../secret.txt", "files://docs/%2e%2e/secret.txt", "files://docs/..%2fsecret.txt",
		"files://docs/..%5csecret.txt", "files://docs//secret.txt", "files://docs/deep", "files://docs/", "files://docs/gone",
		"files://docs/%00", "files://other/a", "file:///secret.txt"} {
		found, err := read(bad)
		require.Error(t, err, "%s: %v", bad, found)
		require.NotContains(t, err.Error(), "canary", bad)
	}
	write("/docs/new.md", "new")
	require.Contains(t, list(), "files://docs/new.md")
}

func TestFiles_ErrorsOfBackendsAreNotShown(t *testing.T) {
	s := newServer(t, mcpserve.Config{})
	require.NoError(t, s.AddFiles(mcpserve.FilesOptions{Name: "docs", Backend: brokenFiles{}}))
	c := connect(t, s, mcpserve.HTTPOptions{}, nil)
	_, err := c.ListResources(t.Context(), nil)
	require.ErrorContains(t, err, "the call failed")
	_, err = c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "files://docs/a"})
	require.ErrorContains(t, err, "the call failed")
	require.NotContains(t, err.Error(), "canary")
}
