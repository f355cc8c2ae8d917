package summarization

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/middlewares/internal/typednil"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/internal/backoff"
	"github.com/weftgo/weft/internal/safe"
)

// errRejected stands for the error of an outcome that has none, and was not good enough all the same.
var errRejected = errors.New("the last summary was rejected")

// generation is the writing of one summary.
type generation[M adk.MessageType] struct {
	m            *TypedMiddleware[M]
	system, user M
	original     []M
}

// run returns the summary, and what the model got that wrote it.
func (g *generation[M]) run(ctx context.Context) (summary M, input []M, err error) {
	input, err = g.input(ctx)
	if err != nil {
		return summary, nil, fmt.Errorf("failed to generate model input: %w", err)
	}
	summary, err = g.primary(ctx, input)
	failover := g.m.conf.Failover
	if failover != nil && orElse(failover.MaxRetries, defaultMaxRetries) > 0 && holds(ctx, failover.ShouldFailover,
		summary, err) {
		return g.failover(ctx, failover, input, summary, err)
	}
	if err != nil {
		return summary, nil, fmt.Errorf("failed to generate summary: %w", err)
	}
	return summary, input, nil
}

func (g *generation[M]) input(ctx context.Context) ([]M, error) {
	if g.m.conf.GenModelInput != nil {
		return g.m.conf.GenModelInput(ctx, g.system, g.user, g.original)
	}
	_, rest := splitSystem(g.original)
	if most := g.m.conf.MaxInputTokens; most > 0 {
		rest = newest(rest, most)
	}
	return slices.Concat([]M{g.system}, rest, []M{g.user}), nil
}

// primary asks the configured model, again and again if that is configured.
func (g *generation[M]) primary(ctx context.Context, input []M) (summary M, err error) {
	retry, retries := g.m.conf.Retry, 0
	if retry != nil {
		retries = orElse(retry.MaxRetries, defaultMaxRetries)
	}
	for attempt := 1; ; attempt++ {
		summary, err = g.generate(ctx, g.m.conf.Model, input)
		if sent := g.report(ctx, GenerateSummaryPhasePrimary, attempt, summary, err); sent != nil {
			return summary, sent
		}
		if retries == 0 || !holds(ctx, retry.ShouldRetry, summary, err) {
			return summary, err
		}
		if attempt > retries {
			return summary, fmt.Errorf("exceeds max retries: %w", orRejected(err))
		}
		if err := wait(ctx, retry.BackoffFunc, attempt, summary, err); err != nil {
			return summary, err
		}
	}
}

// failover asks other models, until one does well.
func (g *generation[M]) failover(
	ctx context.Context, conf *TypedFailoverConfig[M], input []M, last M, lastErr error,
) (summary M, used []M, err error) {
	attempts := orElse(conf.MaxRetries, defaultMaxRetries)
	for attempt := 1; attempt <= attempts; attempt++ {
		var answer M
		used, answer, err = g.standIn(ctx, conf, input,
			&TypedFailoverContext[M]{Attempt: attempt, SystemInstruction: g.system,
				UserInstruction: g.user, OriginalMessages: g.original, LastModelResponse: last, LastErr: lastErr})
		if sent := g.report(ctx, GenerateSummaryPhaseFailover, attempt, answer, err); sent != nil {
			return summary, nil, sent
		}
		if !holds(ctx, conf.ShouldFailover, answer, err) {
			if err != nil {
				return summary, nil, fmt.Errorf("failed to generate summary: %w", err)
			}
			return answer, used, nil
		}
		last, lastErr = answer, err
		if attempt == attempts {
			break
		}
		if err := wait(ctx, conf.BackoffFunc, attempt, last, lastErr); err != nil {
			return summary, nil, err
		}
	}
	return summary, nil, fmt.Errorf("exceeds max failover attempts: %w", orRejected(lastErr))
}

// standIn is one attempt of another model.
func (g *generation[M]) standIn(
	ctx context.Context, conf *TypedFailoverConfig[M], input []M, fc *TypedFailoverContext[M],
) (used []M, answer M, err error) {
	chosen := g.m.conf.Model
	if conf.GetFailoverModel != nil {
		chosen, input, err = conf.GetFailoverModel(ctx, fc)
		switch {
		case err != nil:
			return nil, answer, fmt.Errorf("failed to get failover model: %w", err)
		case typednil.Is(chosen):
			return nil, answer, errors.New("failover model is required")
		case len(input) == 0:
			return nil, answer, errors.New("failover model input messages are required")
		}
	}
	answer, err = g.generate(ctx, chosen, input)
	return input, answer, err
}

// generate calls a model.
func (g *generation[M]) generate(ctx context.Context, m model.BaseModel[M], input []M) (answer M, err error) {
	defer safe.Recover(&err)
	answer, err = m.Generate(ctx, input, g.m.conf.ModelOptions...)
	var none M
	switch word := model.FinishWord(answer); {
	case err != nil:
	case answer == none:
		err = errors.New("the model returned no message")
	case model.FinishOf(word).CutOff():
		err = &CutOffError{Reason: word}
	}
	return answer, err
}

// CutOffError is the error of a summary that ended before the model was done with it: it does not replace the messages.
type CutOffError struct {
	// Reason is the provider's word for why the answer ended, such as "max_tokens".
	Reason string
}

// Error implements error.
func (e *CutOffError) Error() string {
	return fmt.Sprintf("the summary was cut off (%s): have the model write a shorter one (Config.UserInstruction), or raise its limit of tokens (Config.ModelOptions)", e.Reason)
}

func (g *generation[M]) report(
	ctx context.Context, phase GenerateSummaryPhase, attempt int, answer M, err error,
) error {
	return g.m.emit(ctx, &TypedCustomizedAction[M]{Type: ActionTypeGenerateSummary,
		GenerateSummary: &TypedGenerateSummaryAction[M]{Attempt: attempt, Phase: phase, ModelResponse: answer, err: err}})
}

// holds asks a condition about an outcome; by default it holds for errors.
func holds[M adk.MessageType](
	ctx context.Context, condition func(context.Context, M, error) bool, answer M, err error,
) bool {
	if condition == nil {
		return err != nil
	}
	return condition(ctx, answer, err)
}

func orRejected(err error) error {
	if err == nil {
		return errRejected
	}
	return err
}

func wait[M adk.MessageType](
	ctx context.Context, how func(context.Context, int, M, error) time.Duration, attempt int, answer M, err error,
) error {
	if how == nil {
		return backoff.Wait(ctx, defaultBackoff(attempt))
	}
	return backoff.Wait(ctx, how(ctx, attempt, answer, err))
}

const (
	firstBackoff   = time.Second
	longestBackoff = 10 * time.Second
)

// defaultBackoff is the wait before retry number n: summaries take long, so it is longer than between other calls.
func defaultBackoff(n int) time.Duration {
	if n <= 0 {
		return firstBackoff
	}
	d := longestBackoff
	if n < 5 {
		d = min(d, firstBackoff<<(n-1))
	}
	return d + rand.N(d/2+1)
}
