// Package router is a retriever that picks, for every query, which of several retrievers to ask, asks them at once and
// puts the results together.
package router

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components/retriever"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/flow/retriever/internal/observed"
	"github.com/weftgo/weft/flow/retriever/utils"
	"github.com/weftgo/weft/schema"
)

// Config configures the retriever.
type Config struct {
	// Retrievers holds the retrievers to choose from, by name. There must be one at least. They get the options of the call.
	Retrievers map[string]retriever.Retriever
	// Router returns the names of the retrievers to ask. The default is all of them, sorted by name. Choosing none, or
	// one that is not there, is an error; a name that comes twice counts once.
	Router func(ctx context.Context, query string) ([]string, error)
	// FusionFunc puts the results together; they are keyed by the name of the retriever. The default ranks the
	// documents by reciprocal rank fusion: those high in many lists come first.
	FusionFunc func(ctx context.Context, result map[string][]*schema.Document) ([]*schema.Document, error)
}

// NewRetriever makes the retriever. It is safe for concurrent use. If one of the retrievers fails the others are
// cancelled, and its error is returned.
func NewRetriever(ctx context.Context, config *Config) (retriever.Retriever, error) {
	if config == nil {
		return nil, errors.New("router: the config is nil")
	}
	if len(config.Retrievers) == 0 {
		return nil, errors.New("retrievers is empty")
	}
	r := &routerRetriever{retrievers: maps.Clone(config.Retrievers), route: config.Router, fuse: config.FusionFunc}
	names := slices.Sorted(maps.Keys(r.retrievers))
	for _, name := range names {
		if r.retrievers[name] == nil {
			return nil, fmt.Errorf("router: the retriever '%s' is nil", name)
		}
	}
	if r.route == nil {
		r.route = func(context.Context, string) ([]string, error) { return slices.Clone(names), nil }
	}
	if r.fuse == nil {
		r.fuse = rrf
	}
	return r, nil
}

type routerRetriever struct {
	retrievers map[string]retriever.Retriever
	route      func(ctx context.Context, query string) ([]string, error)
	fuse       func(ctx context.Context, result map[string][]*schema.Document) ([]*schema.Document, error)
}

func (r *routerRetriever) Retrieve(
	ctx context.Context, query string, opts ...retriever.Option,
) ([]*schema.Document, error) {
	names, err := r.choose(ctx, query)
	if err != nil {
		return nil, err
	}
	tasks, err := r.tasks(names, query, opts)
	if err != nil {
		return nil, err
	}
	utils.ConcurrentRetrieveWithCallback(ctx, tasks)
	results := make(map[string][]*schema.Document, len(tasks))
	for _, t := range tasks {
		if t.Err != nil {
			return nil, t.Err
		}
		results[t.Name] = t.Result
	}
	return observed.Fuse(ctx, results, r.fuse)
}

// choose calls the router; it shows as a lambda.
func (r *routerRetriever) choose(ctx context.Context, query string) ([]string, error) {
	info := &callbacks.RunInfo{Name: "RouterLambda", Type: "Router", Component: compose.ComponentOfLambda}
	return observed.Call(ctx, info, query, func(ctx context.Context) ([]string, error) {
		names, err := r.route(ctx, query)
		if err == nil && len(names) == 0 {
			err = errors.New("no retriever has been selected")
		}
		return names, err
	})
}

func (r *routerRetriever) tasks(names []string, query string, opts []retriever.Option) ([]*utils.RetrieveTask, error) {
	tasks := make([]*utils.RetrieveTask, 0, len(names))
	seen := make(map[string]bool, len(names))
	for _, name := range names {
		chosen, ok := r.retrievers[name]
		if !ok {
			return nil, fmt.Errorf("router output[%s] has not registered", name)
		}
		if !seen[name] {
			seen[name] = true
			tasks = append(tasks, &utils.RetrieveTask{Name: name, Retriever: chosen, Query: query, RetrieveOptions: opts})
		}
	}
	return tasks, nil
}

// GetType returns "Router".
func (r *routerRetriever) GetType() string { return "Router" }
