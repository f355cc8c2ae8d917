package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"time"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/conversation"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// executor is a Front without its kind of message: jobs are made of ordinary messages.
type executor interface {
	Reply(ctx context.Context, id string, answers ...runs.Reply) error
	Stop(ctx context.Context, id string, how runs.StopRequest) error
	Inspect(ctx context.Context, id string) (runs.Info, bool, error)
	List(ctx context.Context, q runs.Query) iter.Seq2[runs.Info, error]
	Events(ctx context.Context, id string, after runs.Cursor) iter.Seq2[runlog.Event, error]
	submit(ctx context.Context, job dispatch.Job) (runs.Info, error)
	// count counts the runs of a query, of those with a Limit up to that at least.
	count(ctx context.Context, q runs.Query) (int, error)
	// wait waits until the run ends, waits or is paused, and returns its last message, nil if there is none.
	wait(ctx context.Context, id string) (*runlog.Message, error)
}

// remover is a Front that removes runs, as a dispatcher does.
type remover interface {
	Remove(ctx context.Context, id string, force bool) error
}

// frontExecutor is the executor of a Front.
type frontExecutor[M adk.MessageType] struct{ dispatch.Client[M] }

func (f frontExecutor[M]) submit(ctx context.Context, job dispatch.Job) (runs.Info, error) {
	messages, err := messagesAs[M](job.Messages)
	if err != nil {
		return runs.Info{}, err
	}
	return f.Submit(ctx, dispatch.TypedJob[M]{ID: job.ID, Agent: job.Agent, Messages: messages,
		SessionValues: job.SessionValues, Streaming: job.Streaming, Key: job.Key, OnBusy: job.OnBusy, Tags: job.Tags,
		Deadline: job.Deadline})
}

func (f frontExecutor[M]) count(ctx context.Context, q runs.Query) (n int, err error) {
	if counter, ok := f.Client.(dispatch.RunCounter); ok { // each start counts: a list of the runs would cost more than the start
		counts, err := counter.Count(ctx, q)
		for _, many := range counts {
			n += int(many)
		}
		return n, err
	}
	for _, err := range f.List(ctx, q) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

func (f frontExecutor[M]) wait(ctx context.Context, id string) (*runlog.Message, error) {
	o, err := f.Wait(ctx, id)
	if err != nil || o.Status != runs.Done {
		return nil, err
	}
	if m := runlog.MessageOf(o.Message); !m.IsZero() {
		return &m, nil
	}
	return nil, nil
}

// localWorker executes runs in this process.
type localWorker struct {
	stop func()
	// hurry has runs that are being stopped stopped at once, and done is closed when all of them are.
	hurry func()
	done  chan struct{}
	log   *runlog.Log
}

// newLocal makes the front of a server that executes runs itself, and begins to.
func newLocal[M adk.MessageType](conf *TypedConfig[M]) (dispatch.Client[M], *localWorker, error) {
	if conf.Store == nil {
		conf.Store = checkpoint.NewMemoryStore()
	}
	if conf.Conversations == nil && isPlain[M]() {
		var err error
		if conf.Conversations, err = conversation.NewStore(conf.Store); err != nil {
			return nil, nil, fmt.Errorf("serve: Config.Store cannot keep threads: %w", err)
		}
	}
	agents := dispatch.TypedAgents[M]{}
	for _, a := range conf.Agents {
		agents[a.Name(context.Background())] = makerOf(a, conf.AllowFork)
	}
	log := runlog.New(runlog.Config{Store: conf.Events, Linger: conf.Linger, Logger: conf.Logger, Ended: logEnds(conf.Logger)})
	d := dispatch.NewTyped(conf.Store, dispatch.TypedConfig[M]{Agents: agents, Log: log, Logger: conf.Logger,
		Options: RunOptions(conf.Conversations, conf.History)})
	ctx, stop := context.WithCancel(context.Background())
	hurried, hurry := context.WithCancel(context.Background())
	w := &localWorker{stop: stop, hurry: hurry, done: make(chan struct{}), log: log}
	go func() {
		defer close(w.done)
		_ = d.Work(ctx, dispatch.WorkerConfig{Slots: conf.Limits.withDefaults().Runs, // fails without agents only
			DrainTimeout: cmp.Or(conf.DrainTimeout, 10*time.Second), Hurry: hurried.Done()})
	}()
	return d, w, nil
}

// logEnds logs what runs come to, nil without a logger.
func logEnds(logger *slog.Logger) func(runlog.Attempt) {
	if logger == nil {
		return nil
	}
	return func(s runlog.Attempt) {
		u := s.End.Usage
		logger.Info("run ended", "run", s.Run.ID, "agent", s.Agent, "principal", hashed(s.Run.Labels[tagOwner]),
			"thread", s.Run.Labels[tagThread], "status", string(s.End.Status), "duration", s.Took.Round(time.Microsecond),
			"input_tokens", u.Input, "output_tokens", u.Output, "model_calls", s.End.ModelCalls, "tool_calls", s.End.ToolCalls)
	}
}

// makerOf makes the runners of an agent.
func makerOf[M adk.MessageType](agent adk.TypedAgent[M], keepSteps bool) dispatch.TypedRunnerFunc[M] {
	return func(_ context.Context, _ runs.Info, store checkpoint.Store) (*adk.TypedRunner[M], error) {
		return adk.NewTypedRunner(adk.TypedRunnerConfig[M]{Agent: agent, CheckPointStore: store, Durability: adk.EveryStep,
			KeepSteps: keepSteps}), nil
	}
}

// lastResort is the time before the end of a long shutdown at which runs are stopped at once.
const lastResort = time.Second

// shutdown ends the worker: runs are stopped at a safe point, and at once when ctx is nearly over. It waits for that
// until ctx ends.
func (w *localWorker) shutdown(ctx context.Context) error {
	w.stop()
	if deadline, ok := ctx.Deadline(); ok {
		left := time.Until(deadline)
		defer time.AfterFunc(left-min(left/4, lastResort), w.hurry).Stop()
	}
	select {
	case <-w.done:
	case <-ctx.Done():
		w.hurry()
		return fmt.Errorf("serve: runs have not stopped yet: %w", context.Cause(ctx))
	}
	return w.log.Close(ctx)
}

// RunOptions makes the runs of threads turns of their conversations, and gives runs what clients set. It is for
// dispatch.Config.Options of the workers that execute the runs of a server with a Front; a server without one does that
// itself. store must be Config.Conversations.
func RunOptions(
	store conversation.Store, bounds conversation.HistoryOptions,
) func(ctx context.Context, run runs.Info) ([]adk.AgentRunOption, error) {
	return func(ctx context.Context, run runs.Info) ([]adk.AgentRunOption, error) {
		opts, err := samplingOptions(run.Tags[tagSampling])
		if err != nil || store == nil {
			return opts, err
		}
		if run.Tags[tagTurn] != "" {
			seen, err := historyOf(ctx, store, bounds, run)
			return append(opts, seen...), err
		}
		if !isTurn(run.Tags) {
			return opts, nil
		}
		c := conversation.Open(store, run.Key)
		if err := makeRoom(ctx, store, c, run); err != nil {
			return nil, err
		}
		return append(opts, c.RunOption(bounds)), nil
	}
}

// historyOf gives a fork what the turn that it began as has seen of the thread. It is no turn itself.
func historyOf(
	ctx context.Context, store conversation.Store, bounds conversation.HistoryOptions, run runs.Info,
) ([]adk.AgentRunOption, error) {
	c := conversation.Open(store, run.Tags[tagOwner]+"/"+run.Tags[tagTurnThread])
	before, turn, found, err := c.Before(ctx, run.Tags[tagTurn], bounds)
	if err == nil && !found {
		err = fmt.Errorf("the thread of run %q does not have the turn %q any more", run.ID, run.Tags[tagTurn])
	}
	if err != nil {
		return nil, err
	}
	return []adk.AgentRunOption{adk.WithHistory(before.Entries()...), adk.WithActiveAgent(turn.Entry)}, nil
}

// makeRoom ends the turn of another run that is open, and leaves out the one that the run takes the place of. It changes
// nothing if it was done before, for a run that continues.
func makeRoom(ctx context.Context, store conversation.Store, c *conversation.Conversation, run runs.Info) error {
	lane, err := store.State(ctx, run.Key, conversation.Main)
	if err != nil {
		return err
	}
	replaced := run.Tags[tagReplaces]
	switch {
	case lane.Open == nil:
	case lane.Open.ID == run.ID:
		return nil
	case lane.Open.ID == replaced:
		_, err = c.Discard(ctx)
	default:
		err = keepOpenTurn(ctx, c)
	}
	if err != nil || replaced == "" {
		return err
	}
	return leaveOut(ctx, store, c, replaced)
}

// turnIncomplete is the tag of a turn whose run was stopped or has failed.
const turnIncomplete = tagPrefix + "incomplete"

// keepOpenTurn appends the turn that is open. Of a thread one run is executed at a time, so its run was stopped or has
// failed. What was said in it is kept.
func keepOpenTurn(ctx context.Context, c *conversation.Conversation) error {
	claim, err := c.Resume(ctx)
	if errors.Is(err, conversation.ErrNotWaiting) { // its process has died in the middle
		_, err = c.Discard(ctx)
		return err
	}
	if err != nil {
		return err
	}
	if claim.Turn.Tags == nil {
		claim.Turn.Tags = map[string]string{}
	}
	claim.Turn.Tags[turnIncomplete] = "true"
	return claim.Keep(ctx, conversation.Progress{})
}

// leaveOut rewinds a conversation to before a turn, if it has it.
func leaveOut(ctx context.Context, store conversation.Store, c *conversation.Conversation, turn string) error {
	for {
		lane, err := store.State(ctx, c.ID(), conversation.Main)
		if err != nil {
			return err
		}
		t, found, err := c.Find(ctx, turn)
		if err != nil || !found {
			return err
		}
		_, err = c.Rewind(ctx, lane.Head, t.Position-1)
		if !errors.As(err, new(*conversation.HeadMovedError)) { // otherwise something was noted meanwhile
			return err
		}
	}
}

// isPlain reports whether a kind of message is the ordinary one.
func isPlain[M adk.MessageType]() bool {
	_, plain := any(*new(M)).(*schema.Message)
	return plain
}
