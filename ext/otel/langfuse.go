package weftotel

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
)

// LangfuseUser is the user of a run, as Langfuse shows it.
type LangfuseUser struct {
	// ID is the user.id of its traces, and Tags are labels of them. What is empty is left out.
	ID   string
	Tags []string
}

type langfuseKey struct{}

// WithLangfuseUser returns a context whose operations belong to a user, for [LangfuseAttributes].
func WithLangfuseUser(ctx context.Context, u LangfuseUser) context.Context {
	return context.WithValue(ctx, langfuseKey{}, u)
}

// LangfuseAttributes is a value for Config.SpanAttributes: session.id, which is the conversation, and user.id and
// langfuse.trace.tags of [WithLangfuseUser]. Langfuse reads everything else by the names of the conventions.
func LangfuseAttributes() func(ctx context.Context) []attribute.KeyValue {
	return func(ctx context.Context) (attrs []attribute.KeyValue) {
		if id := conversationOf(ctx); id != "" {
			attrs = append(attrs, attribute.String("session.id", id))
		}
		u, _ := ctx.Value(langfuseKey{}).(LangfuseUser)
		if u.ID != "" {
			attrs = append(attrs, attribute.String("user.id", u.ID))
		}
		if len(u.Tags) > 0 {
			attrs = append(attrs, attribute.StringSlice("langfuse.trace.tags", u.Tags))
		}
		return attrs
	}
}
