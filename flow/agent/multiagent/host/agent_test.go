package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/flow/agent"
	"github.com/weftgo/weft/schema"
)

var (
	background = context.Background()
	errBoom    = errors.New("boom")
)

// fixed is a model that always gives the same chunks, and a host.
type fixed struct {
	chunks []*schema.Message

	mu    sync.Mutex
	seen  [][]string
	opts  int
	bound []*schema.ToolInfo
}

func says(words ...string) *fixed {
	m := &fixed{}
	for _, w := range words {
		m.chunks = append(m.chunks, schema.AssistantMessage(w, nil))
	}
	return m
}

// handsTo is a host that calls specialists, one per chunk, after some text.
func handsTo(names ...string) *fixed {
	m := says("One ", "moment.")
	for i, name := range names {
		m.chunks = append(m.chunks, schema.AssistantMessage("", []schema.ToolCall{{
			Index: &i, ID: fmt.Sprint(i), Function: schema.FunctionCall{Name: name,
				Arguments: fmt.Sprintf(`{"reason":"%d"}`, i)}}}))
	}
	return m
}

func (m *fixed) saw(input []*schema.Message, opts []model.Option) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen = append(m.seen, lines(input))
	m.opts += len(opts)
}

func (m *fixed) Generate(_ context.Context, input []*schema.Message, opts ...model.Option) (*schema.Message, error) {
	m.saw(input, opts)
	return schema.ConcatMessages(m.chunks)
}

func (m *fixed) Stream(_ context.Context, input []*schema.Message,
	opts ...model.Option,
) (*schema.StreamReader[*schema.Message], error) {
	m.saw(input, opts)
	return schema.StreamReaderFromArray(m.chunks), nil
}

func (m *fixed) WithTools(tools []*schema.ToolInfo) (model.ToolCallingChatModel, error) {
	m.bound = tools
	return m, nil
}

func lines(ms []*schema.Message) []string {
	out := make([]string, len(ms))
	for i, m := range ms {
		out[i] = string(m.Role) + ": " + m.Content
	}
	return out
}

func specialist(name string, m model.BaseChatModel) *Specialist {
	return &Specialist{AgentMeta: AgentMeta{Name: name, IntendedUse: "does " + name}, ChatModel: m}
}

func user(text string) []*schema.Message { return []*schema.Message{schema.UserMessage(text)} }

func newTeam(t *testing.T, conf *MultiAgentConfig) *MultiAgent {
	t.Helper()
	ma, err := NewMultiAgent(background, conf)
	require.NoError(t, err)
	return ma
}

// runner runs a team and gives the chunks of the answer, or its error.
type runner func(ma *MultiAgent, opts ...agent.AgentOption) ([]*schema.Message, error)

var runners = map[string]runner{
	"Generate": func(ma *MultiAgent, opts ...agent.AgentOption) ([]*schema.Message, error) {
		m, err := ma.Generate(background, user("hi"), opts...)
		return []*schema.Message{m}, err
	},
	"Stream": func(ma *MultiAgent, opts ...agent.AgentOption) (chunks []*schema.Message, err error) {
		s, err := ma.Stream(background, user("hi"), opts...)
		if err != nil {
			return nil, err
		}
		for chunk, err := range s.All() {
			if err != nil {
				return nil, err
			}
			chunks = append(chunks, chunk)
		}
		return chunks, nil
	},
}

func inBothForms(t *testing.T, test func(t *testing.T, run runner)) {
	for name, run := range runners {
		t.Run(name, func(t *testing.T) { test(t, run) })
	}
}

func joined(t *testing.T, chunks []*schema.Message) string {
	t.Helper()
	m, err := schema.ConcatMessages(chunks)
	require.NoError(t, err)
	return m.Content
}

// answered returns what comes behind the text with which the host hands over: a stream has that text, too.
func answered(t *testing.T, chunks []*schema.Message) string {
	t.Helper()
	return strings.TrimPrefix(joined(t, chunks), "One moment.")
}

// TestHost_TextBeforeAHandOverIsInTheStream, while the host still writes; a text of its own is the answer.
func TestHost_TextBeforeAHandOverIsInTheStream(t *testing.T) {
	team := func(h model.ToolCallingChatModel) *MultiAgent {
		return newTeam(t, &MultiAgentConfig{Host: Host{ToolCallingModel: h}, Specialists: []*Specialist{
			specialist("a", says("from ", "a")), specialist("b", says("from b"))}})
	}
	for _, c := range []struct {
		h                   *fixed
		streamed, generated string
	}{
		{handsTo("a"), "One moment.from a", "from a"},
		{handsTo("b", "a"), "One moment.from b\nfrom a\n", "from b\nfrom a\n"},
		{says("my ", "own"), "my own", "my own"},
	} {
		chunks, err := runners["Stream"](team(c.h))
		require.NoError(t, err)
		require.Equal(t, c.streamed, joined(t, chunks))
		chunks, err = runners["Generate"](team(c.h))
		require.NoError(t, err)
		require.Equal(t, c.generated, joined(t, chunks))
	}
}

// Rule components/B13.5.9.
func TestHost_RefusesABadConfiguration(t *testing.T) {
	good := func() *MultiAgentConfig {
		return &MultiAgentConfig{Host: Host{ToolCallingModel: handsTo("a")},
			Specialists: []*Specialist{specialist("a", says("x"))}}
	}
	cases := []struct {
		spoil func(c *MultiAgentConfig)
		want  string
	}{
		{func(c *MultiAgentConfig) { c.Host = Host{} }, "host multi agent host ChatModel is nil"},
		{func(c *MultiAgentConfig) { c.Specialists = nil }, "host multi agent specialists are empty"},
		{func(c *MultiAgentConfig) { c.Specialists[0].ChatModel = nil },
			"specialist a has no chat model or Invokable or Streamable"},
		{func(c *MultiAgentConfig) { c.Specialists[0].Name = "" }, "agent meta name is empty"},
		{func(c *MultiAgentConfig) { c.Specialists[0].IntendedUse = "" }, "agent meta intended use is empty"},
		{func(c *MultiAgentConfig) { c.Specialists = append(c.Specialists, nil) }, "index 1 is nil"},
		{func(c *MultiAgentConfig) { c.Specialists = append(c.Specialists, c.Specialists[0]) }, "node 'a' already present"},
		{func(c *MultiAgentConfig) { c.Specialists[0].Name = "host" }, "node 'host' already present"},
		{func(c *MultiAgentConfig) { c.Specialists[0].Name = compose.END }, "reserved"},
		{func(c *MultiAgentConfig) { c.Summarizer = &Summarizer{} }, "summarizer has no ChatModel"},
	}
	for _, c := range cases {
		conf := good()
		c.spoil(conf)
		_, err := NewMultiAgent(background, conf)
		require.ErrorContains(t, err, c.want)
	}
	_, err := NewMultiAgent(background, nil)
	require.EqualError(t, err, "host multi agent config is nil")
	_, err = NewMultiAgent(background, good())
	require.NoError(t, err)
}

// Rule components/A1.
func TestHost_SpecialistsAreTools(t *testing.T) {
	inBothForms(t, func(t *testing.T, run runner) {
		h := says("hello")
		team := newTeam(t, &MultiAgentConfig{Host: Host{ToolCallingModel: h},
			Specialists: []*Specialist{specialist("a", says()), specialist("b", says())}})
		require.Len(t, h.bound, 2)
		require.Equal(t, "b", h.bound[1].Name)
		require.Equal(t, "does b", h.bound[1].Desc)
		s, err := h.bound[1].ToJSONSchema()
		require.NoError(t, err)
		require.Equal(t, 1, s.Properties.Len())
		require.Equal(t, "reason", s.Properties.Oldest().Key)
		require.Empty(t, s.Required)
		_, err = run(team)
		require.NoError(t, err)
		require.Zero(t, h.opts)
	})
}

// Rule components/A3.
func TestHost_MayAnswerItself(t *testing.T) {
	h := says("hel", "lo")
	team := newTeam(t, &MultiAgentConfig{Host: Host{ToolCallingModel: h, SystemPrompt: "lead"},
		Specialists: []*Specialist{specialist("a", says("never"))}})
	m, err := team.Generate(background, user("hi"))
	require.NoError(t, err)
	require.Equal(t, "hello", m.Content)
	chunks, err := runners["Stream"](team)
	require.NoError(t, err)
	require.Len(t, chunks, 2)
	require.Same(t, h.chunks[0], chunks[0])
	require.Same(t, h.chunks[1], chunks[1])
	require.Equal(t, []string{"system: lead", "user: hi"}, h.seen[0])
}

// Rules components/A2, components/A5.
func TestHost_OneSpecialistAnswers(t *testing.T) {
	answer := says("an", "swer")
	specialists := map[string]*Specialist{
		"model": {ChatModel: answer, SystemPrompt: "be brief"},
		"invokable": {ChatModel: says("no"), SystemPrompt: "ignored",
			Invokable: func(ctx context.Context, in []*schema.Message, _ ...agent.AgentOption) (*schema.Message, error) {
				return answer.Generate(ctx, in)
			}},
		"streamable": {Streamable: func(
			ctx context.Context, in []*schema.Message, _ ...agent.AgentOption,
		) (*schema.StreamReader[*schema.Message], error) {
			return answer.Stream(ctx, in)
		}},
		"both": {
			Invokable: func(ctx context.Context, in []*schema.Message, _ ...agent.AgentOption) (*schema.Message, error) {
				return answer.Generate(ctx, in)
			},
			Streamable: func(ctx context.Context, in []*schema.Message,
				_ ...agent.AgentOption,
			) (*schema.StreamReader[*schema.Message], error) {
				return answer.Stream(ctx, in)
			},
		},
	}
	for name, s := range specialists {
		t.Run(name, func(t *testing.T) {
			inBothForms(t, func(t *testing.T, run runner) {
				answer.seen = nil
				s.AgentMeta = AgentMeta{Name: "a", IntendedUse: "answers"}
				h := handsTo("a", "a") // one specialist, though called twice
				chunks, err := run(newTeam(t, &MultiAgentConfig{Host: Host{ToolCallingModel: h},
					Specialists: []*Specialist{s, specialist("b", says("no"))}}))
				require.NoError(t, err)
				require.Equal(t, "answer", answered(t, chunks))
				if len(chunks) > 3 { // and not one of Invokable
					require.Equal(t, answer.chunks, chunks[2:], "streamed as it is")
				}
				want := []string{"user: hi"}
				if name == "model" {
					want = []string{"system: be brief", "user: hi"}
				}
				require.Equal(t, [][]string{want}, answer.seen)
				require.Equal(t, "system: "+defaultHostPrompt, h.seen[0][0])
			})
		})
	}
}

// Rule components/A4.
func TestHost_FailsForAnUnknownSpecialist(t *testing.T) {
	inBothForms(t, func(t *testing.T, run runner) {
		_, err := run(newTeam(t, &MultiAgentConfig{Host: Host{ToolCallingModel: handsTo("a", "nobody")},
			Specialists: []*Specialist{specialist("a", says("x"))}}))
		require.ErrorContains(t, err, "branch invocation returns unintended end node: nobody")
	})
}

// Rules components/A5, components/B13.5.9.
func TestHost_JoinsTheAnswersOfSeveralSpecialists(t *testing.T) {
	conf := func() *MultiAgentConfig {
		return &MultiAgentConfig{Host: Host{ToolCallingModel: handsTo("c", "a", "c")}, Specialists: []*Specialist{
			specialist("a", says("from ", "a")), specialist("b", says("from b")), specialist("c", says("from ", "c"))}}
	}
	inBothForms(t, func(t *testing.T, run runner) {
		for range 5 { // always in the order of the calls
			chunks, err := run(newTeam(t, conf()))
			require.NoError(t, err)
			require.Equal(t, "from c\nfrom a\n", answered(t, chunks))
			require.Equal(t, schema.Assistant, chunks[0].Role)
		}
	})
	for prompt, want := range map[string]string{"": defaultSummarizerPrompt, "sum up": "sum up"} {
		inBothForms(t, func(t *testing.T, run runner) {
			c, sum := conf(), says("in ", "short")
			c.Summarizer = &Summarizer{ChatModel: sum, SystemPrompt: prompt}
			chunks, err := run(newTeam(t, c))
			require.NoError(t, err)
			require.Equal(t, "in short", answered(t, chunks))
			if len(chunks) > 1 {
				require.Equal(t, sum.chunks, chunks[2:])
			}
			require.Equal(t, [][]string{{"system: " + want, "user: hi", "assistant: from c", "assistant: from a"}}, sum.seen)
		})
	}
}

// Rule components/A5.
func TestHost_SpecialistsRunSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(name string) *Specialist {
			return &Specialist{AgentMeta: AgentMeta{Name: name, IntendedUse: "waits"},
				Invokable: func(context.Context, []*schema.Message, ...agent.AgentOption) (*schema.Message, error) {
					time.Sleep(time.Second)
					return schema.AssistantMessage(name, nil), nil
				}}
		}
		begin := time.Now()
		_, err := newTeam(t, &MultiAgentConfig{Host: Host{ToolCallingModel: handsTo("a", "b")},
			Specialists: []*Specialist{slow("a"), slow("b")}}).Generate(background, user("hi"))
		require.NoError(t, err)
		require.Equal(t, time.Second, time.Since(begin))
	})
}

func TestHost_SpecialistErrors(t *testing.T) {
	failing := map[string]compose.Invoke[[]*schema.Message, *schema.Message, agent.AgentOption]{
		"error": func(context.Context, []*schema.Message, ...agent.AgentOption) (*schema.Message, error) {
			return nil, errBoom
		},
		"panic": func(context.Context, []*schema.Message, ...agent.AgentOption) (*schema.Message, error) {
			panic(errBoom)
		},
	}
	for name, f := range failing {
		t.Run(name, func(t *testing.T) {
			inBothForms(t, func(t *testing.T, run runner) {
				bad := &Specialist{AgentMeta: AgentMeta{Name: "bad", IntendedUse: "fails"}, Invokable: f}
				_, err := run(newTeam(t, &MultiAgentConfig{Host: Host{ToolCallingModel: handsTo("bad", "a")},
					Specialists: []*Specialist{bad, specialist("a", says("x"))}}))
				require.ErrorIs(t, err, errBoom)
				require.ErrorContains(t, err, "[bad]")
			})
		})
	}
	inBothForms(t, func(t *testing.T, run runner) {
		none := &Specialist{AgentMeta: AgentMeta{Name: "none", IntendedUse: "says nothing"},
			Invokable: func(context.Context, []*schema.Message, ...agent.AgentOption) (*schema.Message, error) {
				return nil, nil
			}}
		for _, calls := range [][]string{{"none"}, {"none", "a"}} {
			_, err := run(newTeam(t, &MultiAgentConfig{Host: Host{ToolCallingModel: handsTo(calls...)},
				Specialists: []*Specialist{none, specialist("a", says("x"))}}))
			require.ErrorContains(t, err, "none")
		}
	})
}

func TestHost_CheckerThatIsWrong(t *testing.T) {
	inBothForms(t, func(t *testing.T, run runner) {
		_, err := run(newTeam(t, &MultiAgentConfig{Host: Host{ToolCallingModel: says("hello")},
			Specialists: []*Specialist{specialist("a", says("x"))},
			StreamToolCallChecker: func(context.Context, *schema.StreamReader[*schema.Message]) (bool, error) {
				return true, nil
			}}))
		require.ErrorContains(t, err, "StreamToolCallChecker")
	})
}

// Rule components/A7.
func TestHost_RunsWithoutInput(t *testing.T) {
	team := newTeam(t, &MultiAgentConfig{Host: Host{ToolCallingModel: handsTo("a")},
		Specialists: []*Specialist{specialist("a", says("x"))}})
	m, err := team.Generate(background, nil)
	require.NoError(t, err)
	require.Equal(t, "x", m.Content)
}

func TestHost_NamesAndExport(t *testing.T) {
	for _, c := range []MultiAgentConfig{{}, {Name: "team", HostNodeName: "boss"}} {
		c.Host = Host{ToolCallingModel: handsTo("a")}
		c.Specialists = []*Specialist{{AgentMeta: AgentMeta{Name: "a", IntendedUse: "x"},
			Invokable: func(context.Context, []*schema.Message, ...agent.AgentOption) (*schema.Message, error) {
				return schema.AssistantMessage("x", nil), nil
			}}}
		var infos []string
		handler := callbacks.NewHandlerBuilder().OnStartFn(func(
			ctx context.Context, info *callbacks.RunInfo, _ callbacks.CallbackInput,
		) context.Context {
			infos = append(infos, info.Name+"/"+info.Type)
			return ctx
		}).Build()
		team := newTeam(t, &c)
		require.Equal(t, "host", team.HostNodeKey())
		_, err := team.Generate(background, user("hi"), agent.WithComposeOptions(compose.WithCallbacks(handler)))
		require.NoError(t, err)
		want := []string{"host multi agent/", "host/fixed"}
		if c.Name != "" {
			want = []string{"team/", "boss/fixed"}
		}
		require.Equal(t, want, infos[:2])
		require.Contains(t, infos, "a/Specialist")
	}
}

// A checkpoint has all that the nodes behind the interrupt need.
// Rule components/B13.5.9.
func TestHost_ResumesAfterAnInterrupt(t *testing.T) {
	for _, summarize := range []bool{false, true} {
		for _, calls := range [][]string{{"ask"}, {"ask", "a"}} {
			t.Run(strings.Join(calls, ","), func(t *testing.T) {
				var seen [][]string
				ask := &Specialist{AgentMeta: AgentMeta{Name: "ask", IntendedUse: "asks"},
					Invokable: func(ctx context.Context, in []*schema.Message, _ ...agent.AgentOption) (*schema.Message, error) {
						seen = append(seen, append(lines(in), GetHandOffs(ctx)[0].Argument))
						if resumed, _, answer := compose.GetResumeContext[string](ctx); resumed {
							return schema.AssistantMessage(answer, nil), nil
						}
						return nil, compose.Interrupt(ctx, "?")
					}}
				conf := &MultiAgentConfig{Host: Host{ToolCallingModel: handsTo(calls...)},
					Specialists: []*Specialist{specialist("a", says("from a")), ask}}
				sum := says("summary")
				if summarize {
					conf.Summarizer = &Summarizer{ChatModel: sum, SystemPrompt: "s"}
				}
				g, opts := newTeam(t, conf).ExportGraph()
				r, err := compose.NewChain[[]*schema.Message, *schema.Message]().AppendGraph(g, opts...).
					Compile(background, compose.WithCheckPointStore(&store{}))
				require.NoError(t, err)
				_, err = r.Invoke(background, user("hi"), compose.WithCheckPointID("1"))
				info, ok := compose.ExtractInterruptInfo(err)
				require.True(t, ok, "%v", err)
				out, err := r.Invoke(compose.ResumeWithData(background, info.InterruptContexts[0].ID, "yes"), nil,
					compose.WithCheckPointID("1"))
				require.NoError(t, err)
				asked := []string{"user: hi", `{"reason":"0"}`}
				require.Equal(t, [][]string{asked, asked}, seen)
				switch {
				case len(calls) == 1:
					require.Equal(t, "yes", out.Content)
				case summarize:
					require.Equal(t, "summary", out.Content)
					require.Equal(t, [][]string{{"system: s", "user: hi", "assistant: yes", "assistant: from a"}}, sum.seen)
				default:
					require.Equal(t, "yes\nfrom a\n", out.Content)
				}
			})
		}
	}
}

// interrupting is a model that asks for an interrupt before its first answer.
type interrupting struct{ *fixed }

func (m interrupting) Generate(
	ctx context.Context, input []*schema.Message, opts ...model.Option,
) (*schema.Message, error) {
	answer, err := m.fixed.Generate(ctx, input, opts...)
	if resumed, _, _ := compose.GetResumeContext[any](ctx); !resumed {
		return nil, compose.Interrupt(ctx, "?")
	}
	return answer, err
}

func (m interrupting) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) {
	return m, nil
}

// A model that runs again after an interrupt gets what it got before.
// Rule components/B13.5.9.
func TestHost_ModelsMayInterrupt(t *testing.T) {
	for _, who := range []string{"host", "specialist", "summarizer"} {
		t.Run(who, func(t *testing.T) {
			h, a, sum := handsTo("a", "b"), says("from a"), says("summary")
			var asked *fixed
			conf := &MultiAgentConfig{Host: Host{ToolCallingModel: h}, Summarizer: &Summarizer{ChatModel: sum}}
			specialistA := specialist("a", a)
			switch who {
			case "host":
				asked, conf.Host.ToolCallingModel = h, interrupting{h}
			case "specialist":
				asked, specialistA.ChatModel = a, interrupting{a}
			case "summarizer":
				asked, conf.Summarizer.ChatModel = sum, interrupting{sum}
			}
			conf.Specialists = []*Specialist{specialistA, specialist("b", says("from b"))}
			g, opts := newTeam(t, conf).ExportGraph()
			r, err := compose.NewChain[[]*schema.Message, *schema.Message]().AppendGraph(g, opts...).
				Compile(background, compose.WithCheckPointStore(&store{}))
			require.NoError(t, err)
			_, err = r.Invoke(background, user("hi"), compose.WithCheckPointID("1"))
			info, ok := compose.ExtractInterruptInfo(err)
			require.True(t, ok, "%v", err)
			out, err := r.Invoke(compose.Resume(background, info.InterruptContexts[0].ID), nil, compose.WithCheckPointID("1"))
			require.NoError(t, err)
			require.Equal(t, "summary", out.Content)
			require.Len(t, asked.seen, 2)
			require.Equal(t, asked.seen[0], asked.seen[1])
			require.Equal(t, []string{"user: hi", "assistant: from a", "assistant: from b"}, sum.seen[0][1:])
		})
	}
}

// store is an in-memory checkpoint store.
type store struct {
	data map[string][]byte
}

func (s *store) Get(_ context.Context, id string) ([]byte, bool, error) {
	data, ok := s.data[id]
	return data, ok, nil
}

func (s *store) Set(_ context.Context, id string, data []byte) error {
	s.data = map[string][]byte{id: data}
	return nil
}
