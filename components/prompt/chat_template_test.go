package prompt

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/internal/callbacks"
	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/schema"
)

var background = context.Background()

// stub is a template of both kinds that makes the given number of messages or fails.
type stub struct {
	n   int
	err error
	see func(ctx context.Context, vs map[string]any, formatType schema.FormatType)
}

type agenticStub struct{ stub }

func (s stub) Format(ctx context.Context, vs map[string]any, formatType schema.FormatType) ([]*schema.Message, error) {
	if s.see != nil {
		s.see(ctx, vs, formatType)
	}
	if s.err != nil {
		return nil, s.err
	}
	return make([]*schema.Message, s.n), nil
}

func (s agenticStub) Format(ctx context.Context, vs map[string]any,
	formatType schema.FormatType,
) ([]*schema.AgenticMessage, error) {
	messages, err := s.stub.Format(ctx, vs, formatType)
	return make([]*schema.AgenticMessage, len(messages)), err
}

// spy is a handler that remembers its calls.
type spy struct {
	infos  []callbacks.RunInfo
	starts []callbacks.CallbackInput
	ends   []callbacks.CallbackOutput
	errs   []error
}

type startedKey struct{}

func (s *spy) OnStart(ctx context.Context, info *callbacks.RunInfo, input callbacks.CallbackInput) context.Context {
	s.infos, s.starts = append(s.infos, *info), append(s.starts, input)
	return context.WithValue(ctx, startedKey{}, true)
}

func (s *spy) OnEnd(ctx context.Context, _ *callbacks.RunInfo, output callbacks.CallbackOutput) context.Context {
	s.ends = append(s.ends, output)
	return ctx
}

func (s *spy) OnError(ctx context.Context, _ *callbacks.RunInfo, err error) context.Context {
	s.errs = append(s.errs, err)
	return ctx
}

func (s *spy) OnStartWithStreamInput(
	ctx context.Context, _ *callbacks.RunInfo, _ *schema.StreamReader[callbacks.CallbackInput],
) context.Context {
	panic("a template has no stream")
}

func (s *spy) OnEndWithStreamOutput(
	ctx context.Context, _ *callbacks.RunInfo, _ *schema.StreamReader[callbacks.CallbackOutput],
) context.Context {
	panic("a template has no stream")
}

// Rules components/P1, components/K16a.
func TestFormat_ReportsToItsHandlers(t *testing.T) {
	vs := map[string]any{"k": "v"}
	saw := 0
	see := func(ctx context.Context, got map[string]any, formatType schema.FormatType) {
		saw++
		require.Equal(t, true, ctx.Value(startedKey{}), "the context of the start")
		require.Equal(t, vs, got)
		require.Equal(t, schema.Jinja2, formatType)
	}
	s := &spy{}
	ctx := callbacks.Init(background, nil, s)

	templates := []schema.MessagesTemplate{stub{n: 1, see: see}, stub{n: 2, see: see}}
	result, err := FromMessages(schema.Jinja2, templates...).Format(ctx, vs)
	require.NoError(t, err)
	require.Len(t, result, 3)
	agentic := []schema.AgenticMessagesTemplate{agenticStub{stub{n: 1, see: see}}}
	agenticResult, err := FromAgenticMessages(schema.Jinja2, agentic...).Format(ctx, vs)
	require.NoError(t, err)
	require.Len(t, agenticResult, 1)

	require.Equal(t, 3, saw)
	require.Empty(t, s.errs)
	require.Equal(t, []callbacks.RunInfo{
		{Type: "Default", Component: components.ComponentOfPrompt},
		{Type: "Default", Component: components.ComponentOfAgenticPrompt},
	}, s.infos)
	require.Equal(t, vs, s.starts[0].(*CallbackInput).Variables)
	require.Len(t, s.starts[0].(*CallbackInput).Templates, 2)
	require.Equal(t, result, s.ends[0].(*CallbackOutput).Result)
	require.Len(t, s.ends[0].(*CallbackOutput).Templates, 2)
	require.Equal(t, vs, s.starts[1].(*AgenticCallbackInput).Variables)
	require.Len(t, s.starts[1].(*AgenticCallbackInput).Templates, 1)
	require.Equal(t, agenticResult, s.ends[1].(*AgenticCallbackOutput).Result)
	require.Len(t, s.ends[1].(*AgenticCallbackOutput).Templates, 1)

	for _, payload := range s.starts {
		require.True(t, (ConvCallbackInput(payload) == nil) != (ConvAgenticCallbackInput(payload) == nil),
			"one Conv function takes it")
	}
}

// Rule components/P1.
func TestFormat_PreparedRunInfoIsKept(t *testing.T) {
	s := &spy{}
	info := &callbacks.RunInfo{Name: "node", Type: "T", Component: "C"}
	_, err := FromMessages(schema.FString).Format(callbacks.Init(background, info, s), nil)
	require.NoError(t, err)
	require.Equal(t, []callbacks.RunInfo{*info}, s.infos)
}

// Rule components/P2.
func TestFormat_FirstErrorWins(t *testing.T) {
	first, second := errors.New("first"), errors.New("second")
	s := &spy{}
	ctx := callbacks.Init(background, nil, s)
	result, err := FromMessages(schema.FString, stub{n: 1}, stub{err: first}, stub{err: second}).Format(ctx, nil)
	require.True(t, first == err)
	require.Nil(t, result)
	agenticResult, err := FromAgenticMessages(schema.FString, agenticStub{stub{err: first}}).Format(ctx, nil)
	require.True(t, first == err)
	require.Nil(t, agenticResult)
	require.Equal(t, []error{first, first}, s.errs)
	require.Empty(t, s.ends)
}

// Rule components/P2.
func TestFormat_FailsWithoutAVariable(t *testing.T) {
	_, err := FromMessages(schema.FString, schema.UserMessage("{missing}")).Format(background, map[string]any{})
	require.ErrorContains(t, err, "could not find key: missing")
}

// Rule components/P3.
func TestFormat_GivesAnEmptySliceWithoutTemplates(t *testing.T) {
	result, err := FromMessages(schema.FString).Format(background, nil)
	require.NoError(t, err)
	require.NotNil(t, result)
	require.Empty(t, result)
	agentic, err := FromAgenticMessages(schema.FString).Format(background, nil)
	require.NoError(t, err)
	require.NotNil(t, agentic)
	require.Empty(t, agentic)
}

// Rule components/P4.
func TestFormat_ATemplateMayGiveAnyNumberOfMessages(t *testing.T) {
	result, err := FromMessages(schema.FString, stub{n: 0}, stub{n: 2}, stub{n: 0}, stub{n: 1}).Format(background, nil)
	require.NoError(t, err)
	require.Len(t, result, 3)
}

// Rule components/P5.
func TestFormat_KnowsEveryTemplateLanguage(t *testing.T) {
	history := []*schema.Message{schema.UserMessage("hi"), schema.AssistantMessage("hello", nil)}
	for formatType, texts := range map[schema.FormatType][2]string{
		schema.FString:    {"you are {role}", "{question}"},
		schema.GoTemplate: {"you are {{.role}}", "{{.question}}"},
	} {
		result, err := FromMessages(formatType,
			schema.SystemMessage(texts[0]), schema.MessagesPlaceholder("history", true), schema.UserMessage(texts[1]),
		).Format(background, map[string]any{"role": "a cook", "question": "why?", "history": history})
		require.NoError(t, err)
		require.Len(t, result, 4)
		require.Equal(t, "you are a cook", result[0].Content)
		require.Equal(t, schema.System, result[0].Role)
		require.Equal(t, history, result[1:3])
		require.Equal(t, "why?", result[3].Content)
	}
}

// A program that does not import the engine is told what to import.
// Rule schema/B15.2.6.
func TestFormat_Jinja2NamesItsEngine(t *testing.T) {
	template := FromMessages(schema.Jinja2, schema.SystemMessage("as it is"), schema.UserMessage("{{ question }}"))
	_, err := template.Format(background, map[string]any{"question": "why?"})
	require.EqualError(t, err, "failed to format content: Jinja2 templates need their engine: "+
		`add import _ "github.com/weftgo/weft/ext/jinja" to the program`)
	result, err := FromMessages(schema.Jinja2, schema.SystemMessage("as it is")).Format(background, nil)
	require.NoError(t, err)
	require.Equal(t, "as it is", result[0].Content)
}

// Rule components/P5.
func TestFormat_RendersDocuments(t *testing.T) {
	doc := &schema.Document{Content: "text"}
	for _, v := range []any{doc, []*schema.Document{doc}} {
		_, err := FromMessages(schema.FString, schema.UserMessage("{docs}")).Format(background, map[string]any{"docs": v})
		require.NoError(t, err)
	}
}

// Rules components/P6, components/P7.
func TestTemplates_ZeroValuesAnswer(t *testing.T) {
	built := FromAgenticMessages(schema.GoTemplate, agenticStub{})
	require.Equal(t, schema.GoTemplate, built.formatType)
	require.Len(t, built.templates, 1)

	for _, zero := range []any{&DefaultChatTemplate{}, &DefaultAgenticChatTemplate{}} {
		typ, ok := components.GetType(zero)
		require.True(t, ok)
		require.Equal(t, "Default", typ)
		require.True(t, components.IsCallbacksEnabled(zero))
	}
}

func TestFormat_UserPanicsBecomeErrors(t *testing.T) {
	s := &spy{}
	bad := stub{see: func(context.Context, map[string]any, schema.FormatType) { panic("boom") }}
	result, err := FromMessages(schema.FString, stub{n: 1}, bad).Format(callbacks.Init(background, nil, s), nil)
	require.Nil(t, result)
	var panicked *safe.PanicError
	require.ErrorAs(t, err, &panicked)
	require.Equal(t, []error{err}, s.errs)

	_, err = FromMessages(schema.FString, stub{}, nil).Format(background, nil)
	require.EqualError(t, err, "template 1 is nil")
}

func TestConvCallback(t *testing.T) {
	in, out := &CallbackInput{}, &CallbackOutput{}
	require.Same(t, in, ConvCallbackInput(in))
	require.Same(t, out, ConvCallbackOutput(out))
	vs, messages := map[string]any{"k": 1}, []*schema.Message{{}}
	require.Equal(t, &CallbackInput{Variables: vs}, ConvCallbackInput(vs))
	require.Equal(t, &CallbackOutput{Result: messages}, ConvCallbackOutput(messages))

	agenticIn, agenticOut := &AgenticCallbackInput{}, &AgenticCallbackOutput{}
	require.Same(t, agenticIn, ConvAgenticCallbackInput(agenticIn))
	require.Same(t, agenticOut, ConvAgenticCallbackOutput(agenticOut))
	agentic := []*schema.AgenticMessage{{}}
	require.Equal(t, &AgenticCallbackInput{Variables: vs}, ConvAgenticCallbackInput(vs))
	require.Equal(t, &AgenticCallbackOutput{Result: agentic}, ConvAgenticCallbackOutput(agentic))

	for _, other := range []any{nil, 1, CallbackInput{}, AgenticCallbackInput{}, CallbackOutput{},
		AgenticCallbackOutput{}} {
		require.Nil(t, ConvCallbackInput(other))
		require.Nil(t, ConvCallbackOutput(other))
		require.Nil(t, ConvAgenticCallbackInput(other))
		require.Nil(t, ConvAgenticCallbackOutput(other))
	}
}

func TestOptions(t *testing.T) {
	type own struct{ n int }
	set := WrapImplSpecificOptFn(func(o *own) { o.n = 3 })
	require.Equal(t, &own{3}, GetImplSpecificOptions[own](nil, Option{}, set))
	_, err := FromMessages(schema.FString).Format(background, nil, set, Option{})
	require.NoError(t, err)
}
