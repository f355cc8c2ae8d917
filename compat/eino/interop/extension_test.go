package interop

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/middlewares/filesystem"
	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/compat/eino/interop/extension"
	"github.com/weftgo/weft/components/retriever"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

func TestTool_IsCalledByAnAgent(t *testing.T) {
	web := newService(t, "application/json", `["loom", "shuttle"]`)
	search, err := extension.NewSearchTool(t.Context(), &extension.SearchConfig{
		ToolName: "search", ToolDesc: "searches", BaseURL: web.URL, Client: web.client})
	if err != nil {
		t.Fatal(err)
	}
	s := newService(t, "text/event-stream", completion(called("search", `{"query":"weaving tools","limit":2}`)),
		completion(said("A loom.")))
	runner := newAgent(t, &adk.ChatModelAgentConfig{Model: openaiModel(t, s), ToolsConfig: toolsOf(search)})
	got := drain(t, runner.Query(t.Context(), "What do I need?"))
	want := []string{"assistant: ", `tool: {"hits":["loom","shuttle"]}`, "assistant: A loom."}
	if !slices.Equal(got, want) {
		t.Errorf("the messages are %q, not %q", got, want)
	}
	if got := web.request(0); got != "/search?q=weaving+tools&n=2 " {
		t.Errorf("the search service was asked %q", got)
	}
}

func TestRetriever_ReportsItselfToAHandlerOnce(t *testing.T) {
	docs := []*schema.Document{{ID: "1", Content: "The Warp"}, {ID: "2", Content: "the weft"}, {ID: "3", Content: "warp"}}
	chain := compose.NewChain[string, []*schema.Document]().AppendRetriever(extension.NewWords(docs, 5, nil))
	run, err := chain.Compile(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	trace := &extension.Trace{}
	got, err := run.Invoke(t.Context(), "warp", compose.WithCallbacks(trace),
		compose.WithRetrieverOption(extension.WithFold(), retriever.WithTopK(2)))
	if err != nil || len(got) != 2 || got[0].ID != "1" || got[0].Score() != 1 {
		t.Errorf("found %v, %v", got, err)
	}
	if spans := trace.Spans(); !slices.Equal(spans, []string{"Retriever Words start: warp"}) {
		t.Errorf("the spans are %q", spans)
	}
}

func TestHandler_SeesTheModelOfAnAgentStream(t *testing.T) {
	trace := &extension.Trace{}
	s := newService(t, "text/event-stream", completion(said("Take an "), said("umbrella.")))
	runner := newAgent(t, &adk.ChatModelAgentConfig{Model: openaiModel(t, s)})
	drain(t, runner.Query(t.Context(), "Umbrella?", adk.WithCallbacks(trace)))
	if spans := trace.Spans(); !slices.Contains(spans, "ChatModel OpenAI stream: Take an umbrella.") {
		t.Errorf("the spans are %q", spans)
	}
}

func TestHandler_IsGlobalForWeftAsWell(t *testing.T) {
	trace := &extension.Trace{}
	callbacks.AppendGlobalHandlers(trace)
	docs := []*schema.Document{{ID: "1", Content: "warp"}}
	if _, err := extension.NewWords(docs, 1, nil).Retrieve(t.Context(), "warp"); err != nil {
		t.Fatal(err)
	}
	if spans := trace.Spans(); !slices.Equal(spans, []string{"Retriever Words start: warp"}) {
		t.Errorf("the spans are %q", spans)
	}
}

func TestBackend_HasTheFilesOfAnAgent(t *testing.T) {
	dir := t.TempDir()
	files, err := filesystem.New(t.Context(), &filesystem.MiddlewareConfig{Backend: extension.Directory{Path: dir}})
	if err != nil {
		t.Fatal(err)
	}
	s := newService(t, "text/event-stream",
		completion(called("write_file", `{"file_path":"/note.txt","content":"warp"}`)),
		completion(called("edit_file", `{"file_path":"/note.txt","old_string":"warp","new_string":"weft"}`)),
		completion(called("read_file", `{"file_path":"/note.txt"}`)),
		completion(said("Done.")))
	runner := newAgent(t, &adk.ChatModelAgentConfig{Model: openaiModel(t, s),
		Handlers: []adk.ChatModelAgentMiddleware{files}})
	got := drain(t, runner.Query(t.Context(), "Write it down."))
	if len(got) != 7 || !strings.Contains(got[5], "weft") {
		t.Errorf("the messages are %q", got)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "note.txt")); err != nil || string(text) != "weft" {
		t.Errorf("the file has %q, %v", text, err)
	}
}
