package planexecute

import (
	"context"
	"errors"
	"fmt"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/internal/safe"
)

// defaultMaxIterations is the number of steps that are executed at most.
const defaultMaxIterations = 10

// Config configures [New]. All three agents are required.
type Config struct {
	// Planner makes the plan: see [NewPlanner].
	Planner adk.Agent
	// Executor does the first step of the plan: see [NewExecutor].
	Executor adk.Agent
	// Replanner makes a new plan of what is left, or ends the run: with an action that breaks the loop or exits. See
	// [NewReplanner].
	Replanner adk.Agent
	// MaxIterations limits how many steps are executed. Nothing more is said when it is reached. Default 10.
	MaxIterations int
}

func (cfg *Config) validate() error {
	switch {
	case cfg == nil:
		return errors.New("planexecute: the config is nil")
	case cfg.Planner == nil:
		return errors.New("planexecute: Config.Planner is required")
	case cfg.Executor == nil:
		return errors.New("planexecute: Config.Executor is required")
	case cfg.Replanner == nil:
		return errors.New("planexecute: Config.Replanner is required")
	}
	return nil
}

// New makes the agent that plans, executes and replans. Its name is plan_execute_replan. An interrupt of one of the
// agents in it stops the whole, and a resumed run continues inside that agent, with the session as it was. It is safe
// for concurrent use if the agents in it are: each run has a session of its own. It fails if cfg is nil or lacks one of
// them.
func New(ctx context.Context, cfg *Config) (agent adk.ResumableAgent, err error) {
	defer safe.Recover(&err)
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	rounds := cfg.MaxIterations
	if rounds <= 0 {
		rounds = defaultMaxIterations
	}
	loop, err := adk.NewLoopAgent(ctx, &adk.LoopAgentConfig{
		Name:          "execute_replan",
		SubAgents:     []adk.Agent{cfg.Executor, cfg.Replanner},
		MaxIterations: rounds,
	})
	if err != nil {
		return nil, fmt.Errorf("planexecute: %w", err)
	}
	agent, err = adk.NewSequentialAgent(ctx, &adk.SequentialAgentConfig{
		Name:        "plan_execute_replan",
		Description: "makes a plan, works through it step by step, and changes it where that is needed",
		SubAgents:   []adk.Agent{cfg.Planner, loop},
	})
	if err != nil {
		return nil, fmt.Errorf("planexecute: %w", err)
	}
	return agent, nil
}
