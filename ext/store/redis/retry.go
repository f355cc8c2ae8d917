package redis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/weftgo/weft/runs"
)

// ErrUnavailable is matched by the error of a call that could not be made: the server was out of reach, or could not
// serve, for as long as the store tries ([Config.Patience]). It may be made again.
var ErrUnavailable = errors.New("the server is not available: try again later")

// try asks the server until it answers, or the patience of the store is over. The client tries again by itself, too: so
// whatever is asked for may be done several times, and is what it is if it is done once. Scripts that change a row
// recognize what an earlier attempt has done by the name of the change.
func try[T any, C interface{ Result() (T, error) }](ctx context.Context, s *Store, ask func() C) (T, error) {
	began := time.Now()
	for attempt := 0; ; attempt++ {
		result, err := ask().Result()
		if err == nil || !mayPass(err) {
			if isFull(err) {
				err = fmt.Errorf("%w: %w", runs.ErrFull, err)
			}
			return result, err
		}
		if ended := ctx.Err(); ended != nil {
			if errors.Is(err, ended) {
				return result, err
			}
			return result, fmt.Errorf("%w: %w", ended, err)
		}
		if time.Since(began) >= s.patience {
			return result, fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		pause := min(5*time.Millisecond<<min(attempt, 8), time.Second)
		select {
		case <-time.After(pause/2 + rand.N(pause/2)):
		case <-ctx.Done():
		}
	}
}

// run runs a script.
func (s *Store) run(ctx context.Context, script *redis.Script, keys []string, args ...any) *redis.Cmd {
	var last *redis.Cmd
	_, err := try(ctx, s, func() *redis.Cmd {
		last = s.ask(ctx, script, keys, args)
		return last
	})
	if err != nil {
		last.SetErr(err)
	}
	return last
}

// pipeline has the result of commands that are sent together.
type pipeline struct{ err error }

func (p pipeline) Result() (struct{}, error) { return struct{}{}, p.err }

// pipelined sends commands together. add is called for each attempt.
func (s *Store) pipelined(ctx context.Context, add func(p redis.Pipeliner)) error {
	_, err := try(ctx, s, func() pipeline { return pipeline{s.send(ctx, add)} })
	return err
}

// put is pipelined for commands that write.
func (s *Store) put(ctx context.Context, add func(p redis.Pipeliner)) error {
	_, err := try(ctx, s, func() pipeline { return pipeline{s.replicate(ctx, add)} })
	return err
}

func (s *Store) send(ctx context.Context, add func(p redis.Pipeliner)) error {
	_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		add(p)
		return nil
	})
	return err
}

// isFull reports whether the server has as much in memory as it may, and is to remove nothing.
func isFull(err error) bool { return err != nil && redis.IsOOMError(err) }

// mayPass reports whether another attempt may not meet an error.
func mayPass(err error) bool {
	var network net.Error
	switch {
	case errors.Is(err, errTooFewReplicas), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, redis.ErrPoolTimeout),
		errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled), errors.As(err, &network):
		return true
	}
	return redis.IsLoadingError(err) || redis.IsReadOnlyError(err) || redis.IsClusterDownError(err) ||
		redis.IsTryAgainError(err) || redis.IsMasterDownError(err) || redis.IsMaxClientsError(err) ||
		redis.IsNoReplicasError(err)
}
