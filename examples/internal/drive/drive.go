// Package drive is what the drivers of documented programs are written with: the tests of the documentation run every program
// of its pages, those without a main of their own from a driver in testdata/docs. Whatever goes wrong ends the process.
package drive

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/weftgo/weft"
	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/retriever"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

// process reports what goes wrong in a model or a tool that follows a script.
type process struct{}

func (process) Helper()                           {}
func (process) Errorf(format string, args ...any) { log.Fatalf(format, args...) }
func (process) Cleanup(func())                    {}

// Context returns a context that ends before the test of the program does.
func Context() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	context.AfterFunc(ctx, cancel)
	return ctx
}

// Model returns a model that follows a script.
func Model(script ...adktest.Answer) *adktest.Model[*schema.Message] {
	return adktest.NewModel(process{}, script...)
}

// Tool returns a tool that follows a script.
func Tool(name string, script ...adktest.Answer) *adktest.Tool {
	return adktest.NewTool(name, script...)
}

// Tools is the configuration of an agent that has these tools.
func Tools(tools ...tool.BaseTool) adk.ToolsConfig {
	return adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: tools}}
}

// Agent returns an agent, "assistant", with a model that follows a script, and tools.
func Agent(m *adktest.Model[*schema.Message], tools ...tool.BaseTool) *adk.ChatModelAgent {
	return AgentNamed("assistant", m, tools...)
}

// AgentNamed returns an agent with another name.
func AgentNamed(name string, m *adktest.Model[*schema.Message], tools ...tool.BaseTool) *adk.ChatModelAgent {
	agent, err := adk.NewChatModelAgent(context.Background(), &adk.ChatModelAgentConfig{
		Name: name, Description: "Helps.", Model: m, ToolsConfig: Tools(tools...)})
	Check(err)
	return agent
}

// Weft returns an agent of the front door with a model that follows a script.
func Weft(config weft.Config, script ...adktest.Answer) *weft.Agent {
	config.Model = Model(script...)
	agent, err := weft.New(config)
	Check(err)
	return agent
}

// Runner returns a runner that streams, with a store in memory.
func Runner(agent adk.Agent) *adk.Runner {
	return adk.NewRunner(context.Background(), adk.RunnerConfig{Agent: agent, EnableStreaming: true,
		CheckPointStore: checkpoint.NewMemoryStore(), Durability: adk.EveryStep})
}

// Text reads the events of a run, and returns the last text that an agent said. A question is an error.
func Text(events *adk.AsyncIterator[*adk.AgentEvent]) (text string) {
	for event := range events.All() {
		Check(event.Err)
		if event.Action != nil && event.Action.Interrupted != nil {
			log.Fatalf("the run asks something: %v", event.Action.Interrupted.InterruptContexts)
		}
		message, _, err := adk.GetMessage(event)
		Check(err)
		if message != nil && message.Role == schema.Assistant && message.Content != "" {
			text = message.Content
		}
	}
	return text
}

// Question reads the events of a run that interrupts, and returns the event that says so.
func Question(events *adk.AsyncIterator[*adk.AgentEvent]) (question *adk.AgentEvent) {
	for event := range events.All() {
		Check(event.Err)
		if event.Action != nil && event.Action.Interrupted != nil {
			question = event
			continue
		}
		_, _, err := adk.GetMessage(event)
		Check(err)
	}
	if question == nil {
		log.Fatal("the run has asked nothing")
	}
	return question
}

// Check ends the process if there is an error.
func Check(err error) {
	if err != nil {
		log.Output(2, err.Error())
		log.Fatal("failed")
	}
}

// Equal ends the process if two values differ.
func Equal(got, want any) {
	if !reflect.DeepEqual(got, want) {
		log.Fatalf("got  %v\nwant %v", got, want)
	}
}

// Contains ends the process if a text lacks a part.
func Contains(text any, part string) {
	if !strings.Contains(fmt.Sprint(text), part) {
		log.Fatalf("got  %v\nwant %s in it", text, part)
	}
}

// Send sends a request to a server that the program has begun, as soon as it listens, and returns the body of the answer.
func Send(method, url, body string) string {
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		req, err := http.NewRequestWithContext(Context(), method, url, strings.NewReader(body))
		Check(err)
		if body != "" {
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Prefer", "wait=30")
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil && time.Since(began) < 30*time.Second {
			continue
		}
		Check(err)
		answer, err := io.ReadAll(res.Body)
		Check(err)
		Check(res.Body.Close())
		if res.StatusCode >= 300 {
			log.Fatalf("%s %s: %s: %s", method, url, res.Status, answer)
		}
		return string(answer)
	}
}

// Listens waits until a server that the program has begun answers, whatever it says.
func Listens(url string) {
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		res, err := http.Get(url)
		if err == nil {
			Check(res.Body.Close())
			return
		}
		if time.Since(began) > 30*time.Second {
			log.Fatalf("%s does not listen: %v", url, err)
		}
	}
}

// Finds is a retriever that finds one text, or nothing if it is empty.
type Finds string

// Retrieve returns the text.
func (f Finds) Retrieve(context.Context, string, ...retriever.Option) ([]*schema.Document, error) {
	if f == "" {
		return nil, nil
	}
	return []*schema.Document{{ID: string(f), Content: string(f)}}, nil
}

// toolCaller is a model that follows a script whatever tools it is bound to.
type toolCaller struct {
	*adktest.Model[*schema.Message]
}

// WithTools returns the model.
func (m toolCaller) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) { return m, nil }

// ToolCaller returns a model that follows a script, for agents that bind their tools to it.
func ToolCaller(script ...adktest.Answer) model.ToolCallingChatModel {
	return toolCaller{Model(script...)}
}
