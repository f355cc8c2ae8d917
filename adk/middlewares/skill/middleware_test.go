package skill

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/filesystem"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

func ptr[T any](v T) *T { return &v }

// fixed is a backend with these skills.
type fixed struct {
	mu     sync.Mutex
	skills []Skill
	err    error
}

func (b *fixed) List(context.Context) (list []FrontMatter, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.skills {
		list = append(list, s.FrontMatter)
	}
	return list, b.err
}

func (b *fixed) Get(_ context.Context, name string) (Skill, error) {
	for _, s := range b.skills {
		if s.Name == name {
			return s, nil
		}
	}
	return Skill{}, errors.New("no such skill")
}

func withSkills(skills ...Skill) *fixed { return &fixed{skills: skills} }

var slides = Skill{FrontMatter: FrontMatter{Name: "slides", Description: "makes slides"}, Content: "Use few words.",
	BaseDirectory: "/skills/slides"}

func newTool[M adk.MessageType](t *testing.T, c *TypedConfig[M]) tool.InvokableTool {
	t.Helper()
	m, err := NewTyped(t.Context(), c)
	require.NoError(t, err)
	_, runCtx, err := m.BeforeAgent(t.Context(), &adk.ChatModelAgentContext{})
	require.NoError(t, err)
	require.Len(t, runCtx.Tools, 1)
	return runCtx.Tools[0].(tool.InvokableTool)
}

// Rule batteries/SK-1.
func TestNew_Errors(t *testing.T) {
	var nilBackend *fixed
	for _, c := range []struct {
		config *Config
		err    string
	}{{nil, "config is required"}, {&Config{}, "backend is required"},
		{&Config{Backend: nilBackend}, "backend is required"}} {
		m, err := NewMiddleware(t.Context(), c.config)
		require.EqualError(t, err, c.err)
		require.True(t, m == nil, "the interface itself is nil")
		old, err := New(t.Context(), c.config)
		require.EqualError(t, err, c.err)
		require.Zero(t, old)
	}
}

// Rules batteries/SK-2, batteries/SK-3.
func TestBeforeAgent_AddsPromptAndTool(t *testing.T) {
	for _, c := range []struct {
		name   string
		config *Config
		wants  []string
	}{
		{"english", &Config{}, []string{"'skill'", "Skills System"}},
		{"named", &Config{SkillToolName: ptr("recipe")}, []string{"'recipe'"}},
		{"chinese", &Config{UseChinese: true}, []string{"'skill'", "技能"}},
		{"custom", &Config{SkillToolName: ptr("recipe"),
			CustomSystemPrompt: func(_ context.Context, name string) string { return "use " + name }}, []string{"use recipe"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.config.Backend = withSkills(slides)
			m, err := NewMiddleware(t.Context(), c.config)
			require.NoError(t, err)
			before := &adk.ChatModelAgentContext{Instruction: "Be brief.", Tools: make([]tool.BaseTool, 0, 4)}
			ctx, after, err := m.BeforeAgent(t.Context(), before)
			require.NoError(t, err)
			require.Equal(t, t.Context(), ctx)
			require.Equal(t, "Be brief.", before.Instruction)
			require.Empty(t, before.Tools)
			require.Nil(t, before.Tools[:1][0])
			require.Len(t, after.Tools, 1)
			for _, want := range c.wants {
				require.Contains(t, after.Instruction, want)
			}
			require.Regexp(t, `^Be brief\.\n`, after.Instruction)
			require.NotContains(t, after.Instruction, "{", "the instruction may be a template")

			old, err := New(t.Context(), c.config)
			require.NoError(t, err)
			require.Equal(t, after.Instruction, "Be brief.\n"+old.AdditionalInstruction)
			require.Len(t, old.AdditionalTools, 1)
			require.Nil(t, old.WrapToolCall.Invokable)
		})
	}
	m, err := NewMiddleware(t.Context(), &Config{Backend: withSkills()})
	require.NoError(t, err)
	_, none, err := m.BeforeAgent(t.Context(), nil)
	require.NoError(t, err)
	require.Nil(t, none)
}

// Rule batteries/SK-15.
func TestPrompts_SayHowSkillsAreUsed(t *testing.T) {
	for text, wants := range map[string][]string{
		systemPrompt("skill", false): {"when you need it", "When to use", "Call the tool 'skill'", "follow it",
			"absolute paths", "**Example:**"},
		systemPrompt("skill", true): {"需要时再加载", "何时使用", "调用工具 'skill'", "照其执行", "绝对路径", "**示例：**"},
		toolDescriptionBase: {"check whether", "exact name", "at once", "Do not merely announce",
			"Only the skills in the list", "already following", "base directory"},
		toolDescriptionBaseChinese: {"先检查", "准确名称", "立即调用", "不要只是宣布", "只存在列表中", "已经在执行", "基础目录"},
	} {
		for _, want := range wants {
			require.Contains(t, text, want)
		}
		require.NotContains(t, text, "<tool_name>")
	}
}

// Rule batteries/SK-4.
func TestInfo_ListsTheSkills(t *testing.T) {
	b := withSkills(slides, Skill{FrontMatter: FrontMatter{Name: "letters", Description: "writes letters"}})
	loader := newTool(t, &Config{Backend: b})
	info, err := loader.Info(t.Context())
	require.NoError(t, err)
	require.Equal(t, "skill", info.Name)
	require.Equal(t, toolDescriptionBase+`
<available_skills>
<skill>
<name>
slides
</name>
<description>
makes slides
</description>
</skill>
<skill>
<name>
letters
</name>
<description>
writes letters
</description>
</skill>
</available_skills>
`, info.Desc)

	b.skills = b.skills[:1]
	info, err = loader.Info(t.Context())
	require.NoError(t, err)
	require.NotContains(t, info.Desc, "letters", "it is made anew")

	b.err = errors.New("boom")
	_, err = loader.Info(t.Context())
	require.EqualError(t, err, "failed to list skills: boom")

	info, err = newTool(t, &Config{Backend: withSkills(slides),
		CustomToolDescription: func(_ context.Context, all []FrontMatter) string {
			return "only " + all[0].Name
		}}).Info(t.Context())
	require.NoError(t, err)
	require.Equal(t, "only slides", info.Desc)
}

// Rule batteries/SK-5.
func TestInfo_Parameters(t *testing.T) {
	type params = map[string]*schema.ParameterInfo
	for _, c := range []struct {
		name   string
		custom func(defaults params) params
		want   []string // required ones with !
	}{
		{"default", nil, []string{"skill!"}},
		{"nil", func(params) params { return nil }, []string{"skill!"}},
		{"more", func(p params) params { p["args"] = &schema.ParameterInfo{Type: schema.String}; return p },
			[]string{"args", "skill!"}},
		{"without", func(params) params { return params{"args": {Type: schema.String, Required: true}} },
			[]string{"args!", "skill!"}},
		{"optional", func(params) params { return params{"skill": {Type: schema.String}} }, []string{"skill!"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			conf := &Config{Backend: withSkills(slides)}
			if c.custom != nil {
				conf.CustomToolParams = func(_ context.Context, p params) (params, error) { return c.custom(p), nil }
			}
			info, err := newTool(t, conf).Info(t.Context())
			require.NoError(t, err)
			s, err := info.ToJSONSchema()
			require.NoError(t, err)
			var got []string
			for p := s.Properties.Oldest(); p != nil; p = p.Next() {
				name := p.Key
				for _, r := range s.Required {
					if r == name {
						name += "!"
						break
					}
				}
				got = append(got, name)
			}
			require.Equal(t, c.want, got)
		})
	}
	_, err := newTool(t, &Config{Backend: withSkills(slides),
		CustomToolParams: func(context.Context, params) (params, error) {
			return nil, errors.New("boom")
		}}).Info(t.Context())
	require.EqualError(t, err, "failed to build skill tool params: boom")
}

// Rules batteries/SK-6, batteries/SK-7.
func TestRun_ReturnsTheSkill(t *testing.T) {
	loader := newTool(t, &Config{Backend: withSkills(slides)})
	got, err := loader.InvokableRun(t.Context(), `{"skill":"slides"}`)
	require.NoError(t, err)
	require.Equal(t, "Launching skill: slides\nBase directory for this skill: /skills/slides\n\nUse few words.", got)
	_, err = loader.InvokableRun(t.Context(), `{"skill":`)
	require.ErrorContains(t, err, "failed to unmarshal arguments: ")
	_, err = loader.InvokableRun(t.Context(), `{"skill":"none"}`)
	require.EqualError(t, err, "failed to get skill: no such skill")

	require.NoError(t, adk.SetLanguage(adk.LanguageChinese))
	t.Cleanup(func() { require.NoError(t, adk.SetLanguage(adk.LanguageEnglish)) })
	got, err = loader.InvokableRun(t.Context(), `{"skill":"slides"}`)
	require.NoError(t, err)
	require.Equal(t, "正在启动 Skill：slides\n此 Skill 的目录：/skills/slides\n\nUse few words.", got)

	custom := newTool(t, &Config{Backend: withSkills(slides),
		BuildContent: func(_ context.Context, s Skill, raw string) (string, error) {
			if raw == `{"skill":"slides"}` {
				return "", errors.New("boom")
			}
			return s.Name + raw, nil
		}})
	got, err = custom.InvokableRun(t.Context(), `{"skill":"slides","args":1}`)
	require.NoError(t, err)
	require.Equal(t, `slides{"skill":"slides","args":1}`, got)
	_, err = custom.InvokableRun(t.Context(), `{"skill":"slides"}`)
	require.EqualError(t, err, "failed to build skill result: boom")
}

// modelHub has one model.
type modelHub[M adk.MessageType] struct {
	name  string
	model model.BaseModel[M]
}

func (h modelHub[M]) Get(_ context.Context, name string) (model.BaseModel[M], error) {
	if name != h.name {
		return nil, errors.New("no such model")
	}
	return h.model, nil
}

// Rules batteries/SK-7, batteries/SK-8.
func TestAgent_TakesTheModelOfTheSkill(t *testing.T) {
	t.Run("message", testModelOfSkill[*schema.Message])
	t.Run("agentic", testModelOfSkill[*schema.AgenticMessage])
}

func testModelOfSkill[M adk.MessageType](t *testing.T) {
	strong := slides
	strong.Model = "strong"
	other := adktest.NewTypedModel[M](t,
		adktest.Calls(adktest.Call("skill", `{"skill":"letters"}`)).Offered("skill"), adktest.Says("Done."))
	m, err := NewTyped(t.Context(), &TypedConfig[M]{
		Backend:  withSkills(strong, Skill{FrontMatter: FrontMatter{Name: "letters"}}),
		ModelHub: modelHub[M]{"strong", other},
	})
	require.NoError(t, err)
	agent, err := adk.NewTypedChatModelAgent(t.Context(), &adk.TypedChatModelAgentConfig[M]{
		Name:     "artist",
		Model:    adktest.NewTypedModel[M](t, adktest.Calls(adktest.Call("skill", `{"skill":"slides"}`)).Offered("skill")),
		Handlers: []adk.TypedChatModelAgentMiddleware[M]{m},
	})
	require.NoError(t, err)
	adktest.Ask(t.Context(), t, agent, "Make slides.").ExpectText("Done.")
	require.Len(t, other.Calls(), 2, "the model stays until another skill asks for one")
}

// Rule batteries/SK-8.
func TestWrapModel_Errors(t *testing.T) {
	given := adktest.NewModel(t)
	m, err := NewMiddleware(t.Context(), &Config{Backend: withSkills(slides)})
	require.NoError(t, err)
	same, err := m.WrapModel(t.Context(), given, nil)
	require.NoError(t, err)
	require.True(t, same == model.BaseChatModel(given), "without a hub")

	m, err = NewMiddleware(t.Context(), &Config{Backend: withSkills(slides), ModelHub: modelHub[*schema.Message]{}})
	require.NoError(t, err)
	_, err = m.WrapModel(t.Context(), given, nil)
	require.ErrorContains(t, err, "failed to get active model from run local value: ")

	weak := slides
	weak.Model = "weak"
	for name, hub := range map[string]modelHub[*schema.Message]{
		"failed to get model 'weak' from ModelHub: no such model":                            {},
		"failed to get model 'weak' from ModelHub: it returned neither a model nor an error": {name: "weak"},
	} {
		m, err = NewMiddleware(t.Context(), &Config{Backend: withSkills(weak), ModelHub: hub})
		require.NoError(t, err)
		agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "artist",
			Model:    adktest.NewModel(t, adktest.Calls(adktest.Call("skill", `{"skill":"slides"}`))),
			Handlers: []adk.ChatModelAgentMiddleware{m}})
		require.NoError(t, err)
		require.ErrorContains(t, adktest.Ask(t.Context(), t, agent, "Make slides.").Err(), name)
	}
}

// A skill that was added is seen by the next run, and runs share a tool while nothing changes.
func TestAgent_SkillsAreListedForEachRun(t *testing.T) {
	b := withSkills(slides)
	m, err := NewMiddleware(t.Context(), &Config{Backend: b})
	require.NoError(t, err)
	sees := func(call adktest.ModelCall[*schema.Message]) string { return call.Options.Tools[0].Desc }
	answering := adktest.NewModel(t, adktest.Says("Done.").Repeated())
	agent, err := adk.NewChatModelAgent(t.Context(),
		&adk.ChatModelAgentConfig{Name: "artist", Model: answering, Handlers: []adk.ChatModelAgentMiddleware{m}})
	require.NoError(t, err)
	for range 2 {
		adktest.Ask(t.Context(), t, agent, "Hi").ExpectText("Done.")
	}
	b.skills = append(b.skills, Skill{FrontMatter: FrontMatter{Name: "letters"}})
	adktest.Ask(t.Context(), t, agent, "Hi").ExpectText("Done.")
	calls := answering.Calls()
	require.NotContains(t, sees(calls[1]), "letters")
	require.Contains(t, sees(calls[2]), "letters")

	first, again := newRun(t, m), newRun(t, m)
	require.True(t, first == again)
	b.err = errors.New("boom")
	require.ErrorContains(t, adktest.Ask(t.Context(), t, agent, "Hi").Err(), "failed to list skills: boom")
	b.err = nil
	require.True(t, first == newRun(t, m))
}

func newRun(t *testing.T, m adk.ChatModelAgentMiddleware) tool.BaseTool {
	t.Helper()
	_, runCtx, err := m.BeforeAgent(t.Context(), &adk.ChatModelAgentContext{})
	require.NoError(t, err)
	return runCtx.Tools[0]
}

func TestAgent_ConcurrentRuns(t *testing.T) {
	files := filesystem.NewInMemoryBackend()
	b, err := NewBackendFromFilesystem(t.Context(), &BackendFromFilesystemConfig{Backend: files, BaseDir: "/skills"})
	require.NoError(t, err)
	m, err := NewMiddleware(t.Context(), &Config{Backend: b})
	require.NoError(t, err)
	agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "artist",
		Model: adktest.NewModel(t, adktest.Says("Done.").Repeated()), Handlers: []adk.ChatModelAgentMiddleware{m}})
	require.NoError(t, err)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			name := string(rune('a' + i))
			write(t, files, "/skills/"+name+"/SKILL.md", "---\nname: "+name+"\n---\ntext")
			adktest.Ask(t.Context(), t, agent, "Hi").ExpectText("Done.")
			_, err := b.Get(t.Context(), name)
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	list, err := b.List(t.Context())
	require.NoError(t, err)
	require.Len(t, list, 8)
}
