package redis

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// replicaTime is the time for which an attempt waits for replicas.
const replicaTime = time.Second

// errTooFewReplicas: a write was made that too few replicas have. It is made again, as if its answer had been lost.
var errTooFewReplicas = errors.New("too few replicas have the write (Config.Replicas)")

// checkReplicas refuses clients that send WAIT to any server of several.
func checkReplicas(conf Config) error {
	if _, one := conf.Client.(*redis.Client); conf.Replicas > 0 && !one {
		return fmt.Errorf("redis: Config.Replicas is for a *redis.Client, such as one with Sentinel, and the client is a %T: "+
			"leave it 0", conf.Client)
	}
	if conf.Replicas < 0 {
		return fmt.Errorf("redis: Config.Replicas is %d: leave it 0 to wait for none", conf.Replicas)
	}
	return nil
}

// replicate sends commands that write, and waits until the replicas have what was written. WAIT counts what its own
// connection wrote: so it is sent with them.
func (s *Store) replicate(ctx context.Context, add func(p redis.Pipeliner)) error {
	if s.replicas == 0 {
		return s.send(ctx, add)
	}
	var acknowledged *redis.Cmd
	err := s.send(ctx, func(p redis.Pipeliner) {
		add(p)
		acknowledged = p.Do(ctx, "wait", s.replicas, replicaTime.Milliseconds())
	})
	if err != nil {
		return err
	}
	if n, err := acknowledged.Int(); err != nil || n < s.replicas {
		return errors.Join(err, fmt.Errorf("%w: %d of %d", errTooFewReplicas, n, s.replicas))
	}
	return nil
}

// ask runs a script once.
func (s *Store) ask(ctx context.Context, script *redis.Script, keys []string, args []any) *redis.Cmd {
	if s.replicas == 0 {
		return script.Run(ctx, s.client, keys, args...)
	}
	var answer *redis.Cmd
	err := s.replicate(ctx, func(p redis.Pipeliner) { answer = script.EvalSha(ctx, p, keys, args...) })
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		err = s.replicate(ctx, func(p redis.Pipeliner) { answer = script.Eval(ctx, p, keys, args...) })
	}
	if err != nil {
		answer.SetErr(err)
	}
	return answer
}
