package howto

import (
	"context"
	"fmt"

	"github.com/weftgo/weft"
	"github.com/weftgo/weft/adk/filesystem"
	files "github.com/weftgo/weft/adk/middlewares/filesystem"
)

// How does an agent work with files?
//
// With the filesystem middleware: tools that list, read, write, edit and search. The files are in memory here;
// `filesystem.NewLocalBackend` has those below one directory, and nothing outside of it (docs/filesystem.md).
func Example_files() {
	ctx := context.Background()
	disk := filesystem.NewInMemoryBackend()
	tools := must(files.New(ctx, &files.MiddlewareConfig{Backend: disk}))
	agent := must(weft.New(weft.Config{
		Model:       answers(call("write_file", `{"file_path":"/note.txt","content":"milk"}`), "Noted."),
		Middlewares: []weft.Middleware{tools},
	}))
	must(agent.Ask(ctx, "Note: milk."))
	note := must(disk.Read(ctx, &filesystem.ReadRequest{FilePath: "/note.txt"}))
	fmt.Println(note.Content)
	// Output: milk
}
