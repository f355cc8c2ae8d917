package gemini

import "github.com/weftgo/weft/components/embedding"

// callOptions are the settings of one call: a copy of the Config's, changed by the options of the call.
type callOptions struct{ Config }

func setting(set func(*callOptions)) embedding.Option { return embedding.WrapImplSpecificOptFn(set) }

// WithTaskType replaces Config.TaskType: documents and questions about them have different ones.
func WithTaskType(task string) embedding.Option {
	return setting(func(o *callOptions) { o.TaskType = task })
}

// WithTitle replaces Config.Title. It is sent for documents only.
func WithTitle(title string) embedding.Option {
	return setting(func(o *callOptions) { o.Title = title })
}
