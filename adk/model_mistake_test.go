package adk

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

type drink struct {
	Name string `json:"name"`
	Size int    `json:"size,omitempty" jsonschema:"maximum=3,default=2"`
}

// barTools are tools of every kind that take a drink.
func barTools(t testing.TB) []tool.BaseTool {
	t.Helper()
	text := func(_ context.Context, d drink) (string, error) { return fmt.Sprint(d.Name, d.Size), nil }
	invokable, err := utils.InferTool("order", "", text)
	require.NoError(t, err)
	streamable, err := utils.InferStreamTool("pour", "",
		func(ctx context.Context, d drink) (*schema.StreamReader[string], error) {
			s, err := text(ctx, d)
			return schema.StreamReaderFromArray([]string{s}), err
		})
	require.NoError(t, err)
	enhanced, err := utils.InferEnhancedTool("show", "", func(ctx context.Context, d drink) (*schema.ToolResult, error) {
		s, err := text(ctx, d)
		return textResult(s), err
	})
	require.NoError(t, err)
	enhancedStream, err := utils.InferEnhancedStreamTool("film", "",
		func(ctx context.Context, d drink) (*schema.StreamReader[*schema.ToolResult], error) {
			s, err := text(ctx, d)
			return schema.StreamReaderFromArray([]*schema.ToolResult{textResult(s)}), err
		})
	require.NoError(t, err)
	return []tool.BaseTool{invokable, streamable, enhanced, enhancedStream}
}

func reportsMistakes[M MessageType](eager bool) func(*TypedChatModelAgentConfig[M]) {
	return func(c *TypedChatModelAgentConfig[M]) {
		c.ToolsConfig.ReportMistakes, c.ToolsConfig.EagerExecution = true, eager
	}
}

func TestMistakes_ReportedToTheModel(t *testing.T) {
	for _, eager := range []bool{false, true} {
		t.Run(fmt.Sprint("eager=", eager), func(t *testing.T) {
			matrix(t, func(t *testing.T, streaming bool) { testMistakesReported[*schema.Message](t, streaming, eager) },
				func(t *testing.T, streaming bool) { testMistakesReported[*schema.AgenticMessage](t, streaming, eager) })
		})
	}
}

func testMistakesReported[M MessageType](t *testing.T, streaming, eager bool) {
	d := dialectOf[M]()
	for _, name := range []string{"order", "pour", "show", "film"} {
		m := says(
			d.answer("", wanted{name, "1", `{"size":9}`}),
			d.answer("", wanted{name, "2", `{"name":`}, wanted{"nope", "3", `{}`}),
			d.answer("", wanted{name, "4", `{"name":"tea"}`}),
			d.answer("done"))
		all := read(t, ask(t.Context(), TypedAgent[M](setup[M](t, m, barTools(t), reportsMistakes[M](eager))), streaming))
		lines := linesOf(all)
		open, shut := "", ""
		if kind, ordinary := any(m).(*scripted[*schema.Message]); ordinary && kind != nil && (name == "show" ||
			name == "film") {
			open, shut = "text(", ")"
		}
		require.Contains(t, lines, "tool "+name+"#1: "+open+
			"The call was not executed: name is required; size must be at most 3"+shut)
		require.Contains(t, lines, "tool "+name+"#2: "+open+
			"The call was not executed: the arguments are not valid JSON: unexpected EOF"+shut)
		require.Contains(t, lines,
			`tool nope#3: The call was not executed: there is no tool "nope"; the tools are order, pour, show, film`)
		require.Contains(t, lines, "tool "+name+"#4: "+open+"tea2"+shut, "the default is applied")
		require.Equal(t, "assistant: done", lines[len(lines)-1])
		seen := m.transcript()
		require.Contains(t, seen[len(seen)-1],
			"tool nope#3: The call was not executed: there is no tool \"nope\"; the tools are order, pour, show, film")
	}
}

// Without ReportMistakes a mistake ends the run as it does in the reference, and has its type.
func TestMistakes_EndTheRunByDefault(t *testing.T) {
	matrix(t, testMistakesFatal[*schema.Message], testMistakesFatal[*schema.AgenticMessage])
}

func testMistakesFatal[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	for name, c := range map[string]struct {
		call wanted
		want ModelMistake
		text string
	}{
		"unknown tool": {
			wanted{"nope", "7", "{}"},
			ModelMistake{Kind: MistakeUnknownTool, Tool: "nope",
				Text: `there is no tool "nope"; the tools are order, pour, show, film`},
			"tool nope not found in toolsNode indexes",
		},
		"no JSON": {
			wanted{"order", "7", "no"},
			ModelMistake{Kind: MistakeArguments, Tool: "order",
				Text: "the arguments are not valid JSON: invalid character 'o' in literal null (expecting 'u')"},
			"[LocalFunc] failed to unmarshal arguments in json, toolName=order, err=",
		},
		"another type": {
			wanted{"film", "7", `{"name":"a","size":"b"}`},
			ModelMistake{Kind: MistakeArguments, Tool: "film", Text: "size must be of type integer, and is string"},
			"[EnhancedLocalStreamFunc] failed to unmarshal arguments in json, toolName=film, err=",
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := setup[M](t, says(d.answer("", c.call), d.answer("done")), barTools(t))
			err := failure(t, read(t, ask(t.Context(), TypedAgent[M](a), streaming)))
			require.ErrorContains(t, err, c.text)
			var mistake *ModelMistake
			require.ErrorAs(t, err, &mistake)
			c.want.Agent, c.want.CallID, c.want.Err = "tester", "7", mistake.Err
			require.Equal(t, &c.want, mistake)
			require.Equal(t, mistake.Err.Error(), mistake.Error())
		})
	}
	// What can be decoded is taken, as in the reference.
	a := setup[M](t, says(d.answer("", wanted{"order", "1", `{"size":9,"bogus":1}`}), d.answer("done")), barTools(t))
	require.Contains(t, linesOf(read(t, ask(t.Context(), TypedAgent[M](a), streaming))), "tool order#1: 9")
}

func TestMistakes_MaxMistakesInARow(t *testing.T) {
	matrix(t, testMaxMistakes[*schema.Message], testMaxMistakes[*schema.AgenticMessage])
}

func testMaxMistakes[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	bad, good := d.answer("", wanted{"nope", "b", "{}"}, wanted{"order", "c", "{}"}), d.answer("",
		wanted{"order", "g", `{"name":"tea"}`})
	mixed := d.answer("", wanted{"order", "d", "{}"}, wanted{"order", "g", `{"name":"tea"}`})
	for name, c := range map[string]struct {
		max     int
		answers []M
		calls   int
		fails   bool
	}{
		"three by default":            {0, []M{bad, bad, bad, d.answer("done")}, 4, false},
		"not a fourth":                {0, []M{bad, bad, bad, bad, d.answer("done")}, 4, true},
		"a good call resets":          {0, []M{bad, bad, bad, good, bad, bad, bad, d.answer("done")}, 8, false},
		"a good call beside resets":   {0, []M{bad, bad, mixed, bad, bad, bad, d.answer("done")}, 7, false},
		"as many as configured":       {1, []M{bad, d.answer("done")}, 2, false},
		"no more than are configured": {1, []M{bad, bad, d.answer("done")}, 2, true},
	} {
		t.Run(name, func(t *testing.T) {
			for _, eager := range []bool{false, true} {
				m := says(c.answers...)
				a := setup[M](t, m, barTools(t), reportsMistakes[M](eager),
					func(conf *TypedChatModelAgentConfig[M]) { conf.ToolsConfig.MaxMistakes = c.max })
				all := read(t, ask(t.Context(), TypedAgent[M](a), streaming))
				require.Equal(t, c.calls, m.calls())
				if !c.fails {
					require.Equal(t, "assistant: done", linesOf(all)[len(all)-1])
					continue
				}
				var mistake *ModelMistake
				require.ErrorAs(t, failure(t, all), &mistake)
				require.Equal(t, "tester", mistake.Agent)
			}
		})
	}
}

// The count is in the history, so that a resumed run continues it.
func TestMistakes_CountSurvivesAResume(t *testing.T) {
	bad := chatAnswer("", wanted{"nope", "1", "{}"})
	m := says(bad, bad, chatAnswer("", wanted{"pause", "2", "{}"}), bad)
	pause := &toolFunc{"pause", func(ctx context.Context, _ string) (string, error) {
		if asked, _, _ := tool.GetInterruptState[any](ctx); asked {
			return "", &tool.ArgumentsError{Problems: []string{"too early"}}
		}
		return "", tool.Interrupt(ctx, "why?")
	}}
	a := setup[*schema.Message](t, m, []tool.BaseTool{pause}, reportsMistakes[*schema.Message](false))
	r := NewRunner(t.Context(), RunnerConfig{Agent: a, CheckPointStore: memory{}})
	read(t, r.Query(t.Context(), "hi", WithCheckPointID("1")))
	require.Equal(t, 3, m.calls())
	it, err := r.Resume(t.Context(), "1")
	require.NoError(t, err)
	all := read(t, it)
	require.Contains(t, linesOf(all), "tool pause#2: The call was not executed: too early")
	require.ErrorAs(t, failure(t, all), new(*ModelMistake))
	require.Equal(t, 4, m.calls())
}

// An agent whose Exit or transfer call is a mistake does not end with it.
func TestMistakes_OfACallThatWouldEndTheRun(t *testing.T) {
	matrix(t, testMistakenExit[*schema.Message], testMistakenExit[*schema.AgenticMessage])
}

func testMistakenExit[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	for _, eager := range []bool{false, true} {
		m := says(d.answer("", wanted{"exit", "1", "{}"}), d.answer("", wanted{"exit", "2", `{"final_result":"bye"}`}))
		a := setup[M](t, m, nil, reportsMistakes[M](eager), func(c *TypedChatModelAgentConfig[M]) { c.Exit = ExitTool{} })
		require.Equal(t, []string{
			"assistant: [exit#1 {}]", "tool exit#1: The call was not executed: final_result is required",
			`assistant: [exit#2 {"final_result":"bye"}]`, "tool exit#2: bye",
		}, linesOf(read(t, ask(t.Context(), TypedAgent[M](a), streaming))))
		require.Equal(t, 2, m.calls())
	}
}

func transferCall(id, to string) wanted {
	return wanted{TransferToAgentToolName, id, `{"agent_name":"` + to + `"}`}
}

func TestMistakes_TransferToNobody(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		boss := func(report bool, answers ...*schema.Message) Agent {
			a := setup[*schema.Message](t, says(answers...), nil, func(c *ChatModelAgentConfig) {
				c.Name, c.ToolsConfig.ReportMistakes = "boss", report
			})
			worker := setup[*schema.Message](t, says(schema.AssistantMessage("worked", nil)), nil,
				func(c *ChatModelAgentConfig) { c.Name = "worker" })
			return flowOf(t, a, worker)
		}
		all := read(t, ask(t.Context(),
			boss(true, chatAnswer("", transferCall("1", "sales")), chatAnswer("", transferCall("2", "worker"))), streaming))
		require.Equal(t, []string{
			`assistant: [transfer_to_agent#1 {"agent_name":"sales"}]`,
			`tool transfer_to_agent#1: The call was not executed: there is no agent "sales" to transfer to; the agents are worker`,
			`assistant: [transfer_to_agent#2 {"agent_name":"worker"}]`,
			"tool transfer_to_agent#2: successfully transferred to agent [worker]",
			"assistant: worked",
		}, linesOf(all))

		all = read(t, ask(t.Context(), boss(false, chatAnswer("", transferCall("1", "sales"))), streaming))
		require.Equal(t, []string{`assistant: [transfer_to_agent#1 {"agent_name":"sales"}]`, "error"}, linesOf(all))
		err := failure(t, all)
		require.EqualError(t, err, "transfer failed: agent 'sales' not found when transferring from 'boss'")
		var mistake *ModelMistake
		require.ErrorAs(t, err, &mistake)
		require.Equal(t, MistakeTransfer, mistake.Kind)
		require.Equal(t, "boss", mistake.Agent)
		require.Equal(t, "1", mistake.CallID)
	}
}

// What an agent, a graph or a tool inside a tool has got wrong is the failure of that tool.
func TestMistakes_InsideAToolAreNotTheModels(t *testing.T) {
	inner := setup[*schema.Message](t, says(chatAnswer("", wanted{"nope", "i", "{}"})), barTools(t),
		func(c *ChatModelAgentConfig) { c.Name, c.Description = "inner", "an agent" })
	order := barTools(t)[0].(tool.InvokableTool)
	node, err := compose.NewToolNode(t.Context(), &compose.ToolsNodeConfig{Tools: barTools(t)})
	require.NoError(t, err)
	graph := compose.NewGraph[*schema.Message, []*schema.Message]()
	require.NoError(t, graph.AddToolsNode("tools", node))
	require.NoError(t, graph.AddEdge(compose.START, "tools"))
	require.NoError(t, graph.AddEdge("tools", compose.END))
	runnable, err := graph.Compile(t.Context())
	require.NoError(t, err)
	for name, broken := range map[string]tool.BaseTool{
		"agent": NewAgentTool(t.Context(), inner),
		"graph": &toolFunc{"graph", func(ctx context.Context, _ string) (string, error) {
			_, err := runnable.Invoke(ctx, chatAnswer("", wanted{"order", "1", "{"}))
			return "", err
		}},
		"tool": utils.NewTool(&schema.ToolInfo{Name: "tool"}, func(ctx context.Context, _ map[string]any) (string, error) {
			return order.InvokableRun(ctx, "{")
		}),
		"panic": &toolFunc{"panic",
			func(context.Context, string) (string, error) { panic(&tool.ArgumentsError{Problems: []string{"x"}}) }},
	} {
		t.Run(name, func(t *testing.T) {
			info, err := broken.Info(t.Context())
			require.NoError(t, err)
			a := setup[*schema.Message](t, says(chatAnswer("", wanted{info.Name, "o", `{"request":"go"}`}), chatAnswer("done")),
				[]tool.BaseTool{broken},
				reportsMistakes[*schema.Message](false))
			err = failure(t, read(t, ask(t.Context(), Agent(a), false)))
			if mistake := new(ModelMistake); errors.As(err, &mistake) {
				require.Equal(t, "inner", mistake.Agent)
			}
		})
	}
}

// A tool of the user's may say that its arguments are wrong, whatever it checks.
func TestMistakes_OfAToolOfOnesOwn(t *testing.T) {
	a := setup[*schema.Message](t, says(chatAnswer("", wanted{"book", "1", `"yesterday"`}), chatAnswer("done")),
		[]tool.BaseTool{
			&toolFunc{"book", func(context.Context, string) (string, error) {
				return "", fmt.Errorf("book: %w", &tool.ArgumentsError{Problems: []string{"the day must be in the future"}})
			}},
		}, reportsMistakes[*schema.Message](false))
	require.Contains(t, linesOf(read(t, ask(t.Context(), Agent(a), false))),
		"tool book#1: The call was not executed: the day must be in the future")
}

func TestMistakes_UnknownToolsHandlerAnswersItself(t *testing.T) {
	a := setup[*schema.Message](t, says(chatAnswer("", wanted{"nope", "1", "{}"}), chatAnswer("done")), barTools(t),
		reportsMistakes[*schema.Message](false),
		func(c *ChatModelAgentConfig) {
			c.ToolsConfig.UnknownToolsHandler = func(_ context.Context, name, _ string) (string, error) {
				return "no " + name, nil
			}
		})
	require.Contains(t, linesOf(read(t, ask(t.Context(), Agent(a), false))), "tool nope#1: no nope")
}

func TestMistakes_InTheLanguageOfPrompts(t *testing.T) {
	require.NoError(t, SetLanguage(LanguageChinese))
	defer func() { require.NoError(t, SetLanguage(LanguageEnglish)) }()
	bad := chatAnswer("", wanted{"nope", "1", "{}"})
	m := says(bad, bad, bad, bad)
	all := read(t, ask(t.Context(),
		Agent(setup[*schema.Message](t, m, barTools(t), reportsMistakes[*schema.Message](false))), false))
	require.Contains(t, linesOf(all)[1], "调用未执行：")
	require.ErrorAs(t, failure(t, all), new(*ModelMistake))
	require.Equal(t, 4, m.calls())
}

// The agent that was given to SetSubAgents, and not the one that it returned, cannot hand a run over.
func TestTransfer_OutsideTheFlowIsAnError(t *testing.T) {
	a := setup[*schema.Message](t, says(chatAnswer("", transferCall("1", "worker"))), nil,
		func(c *ChatModelAgentConfig) { c.Name = "boss" })
	worker := setup[*schema.Message](t, says(chatAnswer("", transferCall("2", "boss"))), nil,
		func(c *ChatModelAgentConfig) { c.Name = "worker" })
	flowOf(t, a, worker)
	for name, run := range map[string]func() *AsyncIterator[*AgentEvent]{
		"boss":   func() *AsyncIterator[*AgentEvent] { return ask(t.Context(), Agent(a), false) },
		"worker": func() *AsyncIterator[*AgentEvent] { return ask(t.Context(), Agent(worker), true) },
		"direct": func() *AsyncIterator[*AgentEvent] {
			return a.Run(t.Context(), &AgentInput{Messages: []*schema.Message{schema.UserMessage("hi")}})
		},
	} {
		err := failure(t, read(t, run()))
		require.ErrorContains(t, err,
			"it runs without the agents around it; SetSubAgents returns the agent that has them, run that one", name)
		require.NotErrorAs(t, err, new(*ModelMistake))
	}
}
