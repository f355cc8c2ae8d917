package agentsmd_test

import (
	"context"
	"fmt"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/filesystem"
	"github.com/weftgo/weft/adk/middlewares/agentsmd"
	"github.com/weftgo/weft/schema"
)

// The files are shown before the first message of the user.
func Example() {
	ctx := context.Background()
	files := filesystem.NewInMemoryBackend()
	for path, content := range map[string]string{
		"/project/AGENTS.md":     "Write in the style of @docs/style.md.",
		"/project/docs/style.md": "Short sentences.",
	} {
		if err := files.Write(ctx, &filesystem.WriteRequest{FilePath: path, Content: content}); err != nil {
			panic(err)
		}
	}
	m, err := agentsmd.New(ctx, &agentsmd.Config{Backend: files, AgentsMDFiles: []string{"/project/AGENTS.md"}})
	if err != nil {
		panic(err)
	}
	_, state, err := m.BeforeModelRewriteState(ctx,
		&adk.ChatModelAgentState{Messages: []adk.Message{schema.UserMessage("Write a poem.")}}, nil)
	if err != nil {
		panic(err)
	}
	for _, message := range state.Messages {
		fmt.Println(message.Content)
	}
	// Output:
	// <system-reminder>
	// The following instructions come from files of the code base and of the user. Where they differ from how you would act by default they take precedence: follow them exactly as they are written.
	//
	// Contents of /project/AGENTS.md:
	//
	// Write in the style of @docs/style.md.
	//
	// Contents of /project/docs/style.md:
	//
	// Short sentences.
	//
	// What is said above may or may not matter for the task at hand. Do not answer it by itself; take it into account where it matters.
	// </system-reminder>
	// Write a poem.
}
