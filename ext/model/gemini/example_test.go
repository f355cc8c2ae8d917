package gemini_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/ext/model/gemini"
	"github.com/weftgo/weft/schema"
)

func Example() {
	ctx := context.Background()
	model, err := gemini.NewChatModel(ctx, &gemini.Config{
		APIKey:         os.Getenv("GEMINI_API_KEY"),
		Model:          "gemini-3-pro-preview",
		ThinkingConfig: &gemini.ThinkingConfig{ThinkingLevel: "LOW"},
	})
	if err != nil {
		log.Fatal(err)
	}
	type place struct {
		City string `json:"city" jsonschema:"description=name of the city"`
	}
	weather, err := utils.InferTool("weather", "current weather of a city",
		func(_ context.Context, p place) (string, error) {
			return "sunny in " + p.City, nil
		})
	if err != nil {
		log.Fatal(err)
	}
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name:        "assistant",
		Instruction: "Answer in one sentence.",
		Model:       model,
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{weather}}},
	})
	if err != nil {
		log.Fatal(err)
	}
	runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent})
	for event := range runner.Query(ctx, "Do I need an umbrella in Florence?").All() {
		if event.Err != nil {
			log.Fatal(event.Err)
		}
		fmt.Println(event.Output.MessageOutput.Message)
	}
}

func Example_search() {
	ctx := context.Background()
	m, err := gemini.NewAgenticModel(ctx, &gemini.Config{
		APIKey:             os.Getenv("GEMINI_API_KEY"),
		Model:              "gemini-2.5-flash",
		EnableGoogleSearch: true,
	})
	if err != nil {
		log.Fatal(err)
	}
	answer, err := m.Generate(ctx, []*schema.AgenticMessage{schema.UserAgenticMessage("Who won the Palio this year?")})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer)
	if grounding := answer.ResponseMeta.GeminiExtension.GroundingMeta; grounding != nil {
		fmt.Println(grounding.SearchEntryPoint.RenderedContent) // which Google's terms ask to be shown
		for _, chunk := range grounding.GroundingChunks {
			if chunk.Web != nil {
				fmt.Println(chunk.Web.Title, chunk.Web.URI)
			}
		}
	}
}

func Example_video() {
	ctx := context.Background()
	m, err := gemini.NewChatModel(ctx, &gemini.Config{
		APIKey:             os.Getenv("GEMINI_API_KEY"),
		Model:              "gemini-2.5-flash",
		ResponseJSONSchema: json.RawMessage(`{"type":"object","properties":{"scenes":{"type":"array","items":{"type":"string"}}}}`),
	})
	if err != nil {
		log.Fatal(err)
	}
	video, err := os.Open("holiday.mp4")
	if err != nil {
		log.Fatal(err)
	}
	defer video.Close()
	file, err := m.Upload(ctx, video, "video/mp4")
	if err != nil {
		log.Fatal(err)
	}
	answer, err := m.Generate(ctx, []*schema.Message{{
		Role:    schema.User,
		Content: "List the scenes.",
		UserInputMultiContent: []schema.MessageInputPart{{
			Type:  schema.ChatMessagePartTypeVideoURL,
			Video: &schema.MessageInputVideo{MessagePartCommon: schema.MessagePartCommon{URL: &file.URI, MIMEType: file.MIMEType}},
		}},
	}}, model.WithTemperature(0))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Content)
}

// TestREADME keeps the examples in the README those which compile.
func TestREADME(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	source, err := os.ReadFile("example_test.go")
	require.NoError(t, err)
	blocks := 0
	for rest := string(readme); ; blocks++ {
		_, block, ok := strings.Cut(rest, "```go\n")
		if !ok {
			break
		}
		block, rest, _ = strings.Cut(block, "```")
		for line := range strings.Lines(block) {
			require.Contains(t, string(source), line)
		}
	}
	require.Equal(t, 3, blocks)
}
