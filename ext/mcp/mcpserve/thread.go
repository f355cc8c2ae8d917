package mcpserve

import (
	"context"
	"errors"
	"net/url"
	"regexp"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/conversation"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

var (
	goodThread   = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,128}$`)
	errBadThread = errors.New("a thread is named by 1 to 128 letters, digits, and any of . _ : -")
)

// checkThreads refuses threads where there can be none.
func (a *agentTool[M]) checkThreads() error {
	if a.opts.Conversations == nil {
		return nil
	}
	var none M
	if _, plain := any(none).(*schema.Message); !plain {
		return errors.New("AgentOptions.Conversations needs an agent on ordinary messages")
	}
	if a.opts.Input != nil {
		return errors.New("AgentOptions: set Conversations or Input, not both: threads are named by the default parameters")
	}
	return nil
}

// turn has a run be the next turn of a thread, which is made if there is none.
func (a *agentTool[M]) turn(ctx context.Context, principal, thread string) (adk.AgentRunOption, error) {
	if !goodThread.MatchString(thread) { // the schema says so, too, but not of names in other cases
		return adk.AgentRunOption{}, &tool.ArgumentsError{Err: errBadThread}
	}
	// No principal can name another's thread: the separator of the names is in none of them.
	id := "mcp/" + url.QueryEscape(principal) + "/" + url.QueryEscape(a.opts.Name) + "/" + thread
	store := a.opts.Conversations
	_, exists, err := store.Get(ctx, id)
	if err == nil && !exists {
		_, err = store.Create(ctx, conversation.Info{ID: id, User: principal})
	}
	if err != nil && !errors.Is(err, conversation.ErrExists) {
		return adk.AgentRunOption{}, err
	}
	return conversation.Open(store, id).RunOption(a.opts.History), nil
}
