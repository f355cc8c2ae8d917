package openaiapi

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/serve"
	"github.com/weftgo/weft/serve/internal/servetest"
)

// What answers look like, byte for byte.
func TestHandler_AnswersAsInTheGoldenFiles(t *testing.T) {
	working := func() *api {
		look := adktest.NewTool("look", adktest.Says("sunny"))
		return newAPI(t, Config{ShowWork: true}, serve.Config{}, adk.ChatModelAgentConfig{ToolsConfig: adktest.Tools(look)},
			adktest.Streams("Let me see.").Calling(adktest.Call("look", `{}`)), adktest.Streams("It is ", "sunny."))
	}
	asking := func(then ...adktest.Answer) *api {
		return newAPI(t, Config{}, serve.Config{}, paying(t, nil), append([]adktest.Answer{adktest.Calls(adktest.Call("pay", `{"a":1}`))}, then...)...)
	}
	const responses, chats = "/v1/responses", "/v1/chat/completions"
	input := `{"model":"desk","input":"Hi"`
	for file, got := range map[string][]byte{
		"chat":             working().post(200, chats, ask+`}`),
		"chat-stream":      working().post(200, chats, ask+`,"stream":true,"stream_options":{"include_usage":true}}`),
		"chat-asks":        asking().post(200, chats, ask+`}`),
		"error":            newAPI(t, Config{}, serve.Config{}, adk.ChatModelAgentConfig{}).post(404, chats, `{"model":"nobody","messages":[]}`),
		"responses":        working().post(200, responses, input+`}`),
		"responses-stream": working().post(200, responses, input+`,"stream":true}`),
		"responses-asks":   asking().post(200, responses, input+`,"stream":true}`),
	} {
		servetest.RequireGolden(t, file+".golden", string(got))
	}
	a := asking(adktest.Says("Done."))
	first := string(a.post(200, responses, input+`}`))
	id := regexp.MustCompile(`"id":"(resp_[^"]+)"`).FindStringSubmatch(first)[1]
	request := regexp.MustCompile(`"id":"(mcpr_[^"]+)"`).FindStringSubmatch(first)[1]
	servetest.RequireGolden(t, "responses-answered.golden", string(a.post(200, responses, fmt.Sprintf(
		`{"model":"desk","previous_response_id":%q,"input":[{"type":"mcp_approval_response","approval_request_id":%q,"approve":true}]}`, id, request))))
}
