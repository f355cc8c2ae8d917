package supervisor

import (
	"context"
	"errors"
	"fmt"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/internal/safe"
)

// Config configures [New].
type Config struct {
	// Supervisor hands the work over and answers in the end. A [adk.ChatModelAgent] reads about the workers, and gets
	// a tool to hand over with. Required.
	Supervisor adk.Agent
	// SubAgents are the workers. Each needs a name of its own, and a description by which the supervisor chooses it.
	SubAgents []adk.Agent
}

func (c *Config) validate(ctx context.Context) error {
	switch {
	case c == nil:
		return errors.New("supervisor: the config is nil")
	case c.Supervisor == nil:
		return errors.New("supervisor: Config.Supervisor is required")
	}
	taken := map[string]bool{c.Supervisor.Name(ctx): true}
	for i, worker := range c.SubAgents {
		if worker == nil {
			return fmt.Errorf("supervisor: Config.SubAgents[%d] is nil", i)
		}
		name := worker.Name(ctx)
		if taken[name] {
			return fmt.Errorf("supervisor: Config.SubAgents[%d] has the name %q of another agent: give each its own", i, name)
		}
		taken[name] = true
	}
	return nil
}

// New makes the agent. It has the name and the description of the supervisor, and the supervisor and the workers in it
// run as agents below it: callback handlers see the whole as an agent of type Supervisor. It is safe for concurrent use
// if the agents in it are.
//
// New changes the supervisor, which may belong to one system only, and must not have run before. Workers stay as they
// are, and may be part of several systems. New fails if conf is nil or has no supervisor, or one that has workers already
// or has run, and if a worker is nil or has the name of another agent.
func New(ctx context.Context, conf *Config) (agent adk.ResumableAgent, err error) {
	defer safe.Recover(&err)
	if err := conf.validate(ctx); err != nil {
		return nil, err
	}
	name := conf.Supervisor.Name(ctx)
	workers := make([]adk.Agent, len(conf.SubAgents))
	for i, worker := range conf.SubAgents {
		workers[i] = adk.AgentWithDeterministicTransferTo(ctx, &adk.DeterministicTransferConfig{
			Agent: worker, ToAgentNames: []string{name}})
	}
	inner, err := adk.SetSubAgents(ctx, conf.Supervisor, workers)
	if err != nil {
		return nil, fmt.Errorf("supervisor: agent '%s': %w", name, err)
	}
	return &system{inner}, nil
}

// system is a supervisor with its workers. It is an agent around them, so that callback handlers see one whole.
type system struct{ adk.ResumableAgent }

// ObeyedInside has a cancel of the system be one of its supervisor.
func (*system) ObeyedInside() {}

// AgentsInside shows the supervisor to package adk/picture.
func (s *system) AgentsInside() []adk.Agent { return []adk.Agent{s.ResumableAgent} }

// GetType returns "Supervisor".
func (*system) GetType() string { return "Supervisor" }
