package callbacks

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// model is the table of the context functions and firings written down as plainly as possible.
type model struct {
	manager bool
	runs    []string
	globals []string
	pending *RunInfo
	last    *RunInfo
}

func (m model) init(info *RunInfo, global, handlers []string) model {
	if len(handlers)+len(global) == 0 {
		return model{last: m.last}
	}
	return model{true, slices.Clone(handlers), slices.Clone(global), info, m.last}
}

func (m model) reuse(info *RunInfo, global []string) model {
	if !m.manager {
		return m.init(info, global, nil)
	}
	m.pending = info
	return m
}

func (m model) append(info *RunInfo, global, handlers []string) model {
	if !m.manager {
		return m.init(info, global, handlers)
	}
	return model{true, slices.Concat(m.runs, handlers), slices.Clone(global), info, m.last}
}

func (m model) ensure(typ string, global []string) model {
	if m.manager && m.pending != nil {
		return m
	}
	return m.reuse(&RunInfo{Type: typ}, global)
}

func (m model) start() (model, []string) {
	if !m.manager {
		return m, nil
	}
	called := slices.Concat(m.runs, m.globals)
	slices.Reverse(called)
	m.last, m.pending = m.pending, nil
	return m, lines(called, m.last)
}

func (m model) end() []string {
	if !m.manager {
		return nil
	}
	info := m.pending
	if info == nil {
		info = m.last
	}
	return lines(slices.Concat(m.runs, m.globals), info)
}

func lines(handlers []string, info *RunInfo) []string {
	var out []string
	for _, h := range handlers {
		out = append(out, h+describe(info))
	}
	return out
}

func describe(info *RunInfo) string {
	if info == nil {
		return " <nil>"
	}
	return fmt.Sprintf(" %s/%s", info.Name, info.Type)
}

func TestModel(t *testing.T) {
	for seed := range uint64(300) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { runModel(t, rand.New(rand.NewPCG(seed, 1))) })
	}
}

func runModel(t *testing.T, r *rand.Rand) {
	withGlobals(t)
	j := &journal{}
	handler := func(name string) Handler {
		note := func(ctx context.Context, info *RunInfo) context.Context {
			j.add("%s%s", name, describe(info))
			return ctx
		}
		return &funcs{
			onStart: func(ctx context.Context, info *RunInfo, _ CallbackInput) context.Context { return note(ctx, info) },
			onEnd:   func(ctx context.Context, info *RunInfo, _ CallbackOutput) context.Context { return note(ctx, info) },
		}
	}
	var global []string
	contexts, models := []context.Context{background}, []model{{}}
	for step := range 40 {
		i := r.IntN(len(contexts))
		ctx, m := contexts[i], models[i]
		name := fmt.Sprint(step)
		var run *RunInfo
		if r.IntN(4) > 0 {
			run = &RunInfo{Name: name}
		}
		var names []string
		var handlers []Handler
		for k := range r.IntN(3) {
			names = append(names, fmt.Sprintf("%s.%d", name, k))
			handlers = append(handlers, handler(names[k]))
		}
		switch r.IntN(8) {
		case 0:
			ctx, m = Init(ctx, run, handlers...), m.init(run, global, names)
		case 1:
			ctx, m = Append(ctx, run, handlers...), m.append(run, global, names)
		case 2:
			ctx, m = Reuse(ctx, run), m.reuse(run, global)
		case 3:
			ctx, m = EnsureRunInfo(ctx, name, ""), m.ensure(name, global)
		case 4:
			if r.IntN(4) == 0 {
				AppendGlobal(handlers...)
				global = append(global, names...)
			}
		case 5:
			OnEnd(ctx, "")
			require.Equal(t, m.end(), j.take())
		default:
			var want []string
			m, want = m.start()
			ctx = OnStart(ctx, "")
			require.Equal(t, want, j.take())
		}
		contexts, models = append(contexts, ctx), append(models, m)
	}
}
