package adk

import (
	"fmt"
	"reflect"

	"github.com/weftgo/weft/schema"
)

// handlerSet is the middlewares of an agent, sorted by what they do: a hook runs only those that have it.
type handlerSet[M MessageType] struct {
	structs []structHooks // ordinary messages only
	// present: there is a middleware.
	present bool

	beforeAgent    []handler[M]
	beforeModel    []handler[M]
	wrapModel      []handler[M]
	afterModel     []handler[M]
	afterToolCalls []handler[M]
	finalAnswer    []handler[M]
	afterAgent     []handler[M]

	wrapInvokable, wrapStreamable                 []handler[M]
	wrapEnhancedInvokable, wrapEnhancedStreamable []handler[M]
	wrapTool                                      []handler[M]

	// modelSender and toolSender: a middleware sends the events, in place of the agent.
	modelSender, toolSender bool
}

// handler is a middleware with its place in the configuration.
type handler[M MessageType] struct {
	TypedChatModelAgentMiddleware[M]
	index int
}

// structHooks is an [AgentMiddleware] with its place in the configuration.
type structHooks struct {
	AgentMiddleware
	index int
}

// failed says which middleware failed in which hook.
func (h *handler[M]) failed(hook string, err error) error {
	return fmt.Errorf("handler[%d] (%T) %s failed: %w", h.index, h.TypedChatModelAgentMiddleware, hook, err)
}

func newHandlerSet[M MessageType](structs []AgentMiddleware, all []TypedChatModelAgentMiddleware[M]) (*handlerSet[M], error) {
	s := &handlerSet[M]{present: len(structs)+len(all) > 0}
	for i, m := range structs {
		if m.BeforeChatModel != nil || m.AfterChatModel != nil {
			s.structs = append(s.structs, structHooks{m, i})
		}
	}
	var none M
	if _, ordinary := any(none).(*schema.Message); !ordinary {
		s.structs = nil
	}
	base := reflect.TypeFor[TypedBaseChatModelAgentMiddleware[M]]()
	for i, m := range all {
		if m == nil || reflect.ValueOf(m).Kind() == reflect.Pointer && reflect.ValueOf(m).IsNil() {
			return nil, fmt.Errorf("agent 'Handlers' has nil at index %d: leave it out or put a middleware there", i)
		}
		s.sort(handler[M]{TypedChatModelAgentMiddleware: m, index: i}, base)
	}
	return s, nil
}

// sort puts a middleware into the list of each hook that it has.
func (s *handlerSet[M]) sort(h handler[M], base reflect.Type) {
	m := h.TypedChatModelAgentMiddleware
	t := reflect.TypeOf(m)
	_, beforeHistory := m.(beforeModelHistoryRewriter[M])
	_, afterHistory := m.(afterModelHistoryRewriter[M])
	_, wrapsTools := m.(toolWrapper)
	for _, hook := range []struct {
		list   *[]handler[M]
		method string
		also   bool
	}{
		{&s.beforeAgent, "BeforeAgent", false},
		{&s.beforeModel, "BeforeModelRewriteState", beforeHistory},
		{&s.wrapModel, "WrapModel", false},
		{&s.afterModel, "AfterModelRewriteState", afterHistory},
		{&s.afterToolCalls, "AfterToolCallsRewriteState", false},
		{&s.finalAnswer, "BeforeFinalAnswer", false},
		{&s.afterAgent, "AfterAgent", false},
		{&s.wrapInvokable, "WrapInvokableToolCall", false},
		{&s.wrapStreamable, "WrapStreamableToolCall", false},
		{&s.wrapEnhancedInvokable, "WrapEnhancedInvokableToolCall", false},
		{&s.wrapEnhancedStreamable, "WrapEnhancedStreamableToolCall", false},
	} {
		if hook.also || overrides(t, base, hook.method) {
			*hook.list = append(*hook.list, h)
		}
	}
	if wrapsTools {
		s.wrapTool = append(s.wrapTool, h)
	}
	switch m.(type) {
	case *eventSenderModelWrapper[M]:
		s.modelSender = true
	case *eventSenderToolWrapper[M]:
		s.toolSender = true
	}
}

// beforeTurn reports whether anything runs before a turn of the model.
func (s *handlerSet[M]) beforeTurn() bool { return len(s.structs)+len(s.beforeModel) > 0 }

// afterTurn reports whether anything runs after a turn of the model.
func (s *handlerSet[M]) afterTurn() bool { return len(s.structs)+len(s.afterModel) > 0 }

// aroundModel reports whether anything runs in a turn besides the model.
func (s *handlerSet[M]) aroundModel() bool {
	return s.beforeTurn() || s.afterTurn() || len(s.wrapModel) > 0
}

// judgesAnswers reports whether anything runs between the last message and the end of the run.
func (s *handlerSet[M]) judgesAnswers() bool { return len(s.finalAnswer)+len(s.afterAgent) > 0 }
