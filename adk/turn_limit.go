package adk

import "fmt"

// turns is the number of turns that the model of an agent that begins may have: MaxIterations or, if that is less, what the
// agents before it have left of those that all share.
func (r *agentRun[M]) turns() int {
	own := r.agent.conf.MaxIterations
	first, used := r.sharedTurns()
	if first == nil {
		return own
	}
	return min(own, max(first.MaxIterations-used, 0))
}

// sharedTurns returns the configuration of the agent that the run began with and how many turns the agents have had that it
// was handed over to since, if they share its limit and the run was handed over at all; nil otherwise. What was said is
// saved with the run: a resumed one counts what came before, too.
func (r *agentRun[M]) sharedTurns() (first *TypedChatModelAgentConfig[M], used int) {
	x := executionFrom[M](r.Context)
	if x == nil || x.transfers == 0 {
		return nil, 0
	}
	outermost, handedOver := x, 0
	for ; outermost.parent != nil; outermost = outermost.parent {
		handedOver++
	}
	exported, ok := outermost.agent.(*TypedChatModelAgent[M])
	if !ok || handedOver != x.transfers {
		return nil, 0
	}
	a, ok := exported.agent.(*chatModelAgent[M])
	if !ok || !a.conf.SharedIterations {
		return nil, 0
	}
	for _, item := range x.lane.visible() {
		if m, err := item.whole(r.Context); err == nil && opsOf[M]().isAnswer(m) {
			used++
		}
	}
	return &a.conf, used
}

// exceededIterations is the error of a run whose model would have to be called once too often.
func (r *agentRun[M]) exceededIterations() error {
	conf := &r.agent.conf
	if first, used := r.sharedTurns(); first != nil && first.MaxIterations-used < conf.MaxIterations {
		return fmt.Errorf("%w: agent '%s' and those that it handed the run over to called their models %d times without an end; "+
			"MaxIterations of its config sets the limit", ErrExceedMaxIterations, first.Name, first.MaxIterations)
	}
	return fmt.Errorf("%w: agent '%s' called its model %d times without an end; MaxIterations of its config sets the limit",
		ErrExceedMaxIterations, conf.Name, conf.MaxIterations)
}
