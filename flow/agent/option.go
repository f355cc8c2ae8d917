// Package agent holds what the agents of package flow share: the options of a call and the binding of tools to a
// model.
//
// An agent here is a compiled graph behind Generate and Stream; see the packages react (one model with tools) and
// multiagent/host (a model that hands over to specialists). For agents with events, interrupts and middlewares use
// package adk.
package agent

import (
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/internal/option"
)

// AgentOption is an option of one call of an agent: options for its graph, or settings of one kind of agent. It is
// immutable and may be used for any number of calls, unless who made it says otherwise. The zero AgentOption changes
// nothing.
type AgentOption option.Setter[graphOptions]

// graphOptions are the options that the graph of an agent is called with.
type graphOptions struct {
	all []compose.Option
}

// GetComposeOptions returns the graph options among opts, in order; nil if there are none. They may as well be given
// to a graph that the agent is a part of.
func GetComposeOptions(opts ...AgentOption) []compose.Option {
	return option.ApplyCommon(&graphOptions{}, opts).all
}

// WithComposeOptions passes options to the graph of the agent.
func WithComposeOptions(opts ...compose.Option) AgentOption {
	return AgentOption(option.Common(func(o *graphOptions) { o.all = append(o.all, opts...) }))
}

// WrapImplSpecificOptFn makes an option of one kind of agent: optFn sets a field of that agent's own options T. nil
// sets nothing.
func WrapImplSpecificOptFn[T any](optFn func(*T)) AgentOption {
	return AgentOption(option.Impl[graphOptions](optFn))
}

// GetImplSpecificOptions applies the settings made for T among opts to base, in order, and returns base. A nil base
// stands for a zero T. Options of other agents are skipped.
func GetImplSpecificOptions[T any](base *T, opts ...AgentOption) *T {
	return option.ApplyImpl(base, opts)
}
