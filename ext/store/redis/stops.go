package redis

import (
	"context"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// Abandon has the store look no longer for requests to stop the run.
func (l *lease) Abandon() { l.store.stops.Leave(l.store.runKey(l.ID()), l) }

// lookForStops delivers the requests to stop that leases have not seen, in one round trip, and returns the leases that no
// longer count. A lease that is writing is passed by: it looks itself.
func lookForStops(ctx context.Context, held []*lease) (lost []*lease) {
	client := held[0].store.client // of all
	answers := make([]*redis.SliceCmd, len(held))
	_, err := client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, l := range held {
			answers[i] = p.HMGet(ctx, l.store.runKey(l.ID()), "token", "held", "stop")
		}
		return nil
	})
	if err != nil {
		return nil // the next renewal looks, too
	}
	for i, l := range held {
		token, _ := answers[i].Val()[0].(string)
		isHeld, _ := answers[i].Val()[1].(string)
		stop, _ := answers[i].Val()[2].(string)
		if token != strconv.FormatUint(l.Token(), 10) || isHeld != "1" {
			lost = append(lost, l)
			continue
		}
		select {
		case l.turn <- struct{}{}:
			if stop != l.stop { // what was read is perhaps older than what the lease has seen since
				if stop, err = client.HGet(ctx, l.store.runKey(l.ID()), "stop").Result(); err == nil {
					_ = l.noteStop(stop) // what cannot be read fails the next renewal
				}
			}
			<-l.turn
		default:
		}
	}
	return lost
}
