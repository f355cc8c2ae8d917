package local_test

import (
	"context"
	"fmt"
	"os"

	"github.com/weftgo/weft/adk/filesystem"
	"github.com/weftgo/weft/adk/filesystem/local"
)

func Example() {
	ctx := context.Background()
	root, err := os.MkdirTemp("", "project")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(root)

	backend, err := local.NewBackend(ctx, &local.Config{Root: root, Mount: "/"})
	if err != nil {
		panic(err)
	}
	defer backend.Close()

	err = backend.Write(ctx, &filesystem.WriteRequest{FilePath: "/docs/guide.md", Content: "# Guide\n\nTo be written.\n"})
	fmt.Println("write:", err)

	err = backend.Edit(ctx, &filesystem.EditRequest{FilePath: "/docs/guide.md", OldString: "To be written.",
		NewString: "Read the source."})
	fmt.Println("edit:", err)

	matches, err := backend.GrepRaw(ctx, &filesystem.GrepRequest{Pattern: "(?i)read", Glob: "**/*.md"})
	fmt.Println("grep:", matches, err)

	_, err = backend.Read(ctx, &filesystem.ReadRequest{FilePath: "/../../etc/passwd"})
	fmt.Println("read:", err)
	// Output:
	// write: <nil>
	// edit: <nil>
	// grep: [{Read the source. /docs/guide.md 3}] <nil>
	// read: file not found: /etc/passwd
}
