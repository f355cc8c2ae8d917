package redis

import (
	"errors"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint/checkpointtest"
)

// Rule distributed/B23.
func TestStore_TakesNoDamagedValueForAnother(t *testing.T) {
	s := newStore(t, nil)
	checkpointtest.Damages(t, s, s.OpenEvents(), func() (cells []checkpointtest.Cell) {
		ctx := t.Context()
		for _, id := range []string{"left", "right"} {
			fields, err := s.client.HGetAll(ctx, s.runKey(id)).Result()
			require.NoError(t, err)
			for field, value := range fields {
				switch field {
				case "v", "writes", "until", "updated", "bytes", "modified", "taken", "life", "attempts":
					continue // what guards writes, clocks, and what any append sets
				}
				cells = append(cells, checkpointtest.Cell{Name: "run." + field, Of: id, Value: []byte(value), Set: func(b []byte) error {
					return s.client.HSet(ctx, s.runKey(id), field, b).Err()
				}})
			}
			records, err := s.client.LRange(ctx, s.stepsKey(id), 0, -1).Result()
			require.NoError(t, err)
			for i, record := range records {
				cells = append(cells, checkpointtest.Cell{Name: "steps", Of: id, Value: []byte(record), Set: func(b []byte) error {
					return s.client.LSet(ctx, s.stepsKey(id), int64(i), b).Err()
				}})
			}
			entries, err := s.client.XRange(ctx, s.streamKey(id), "-", "+").Result()
			require.NoError(t, err)
			cells = append(cells, checkpointtest.Cell{Name: "events", Of: id, Value: []byte(entries[0].Values["e"].(string)), Set: func(b []byte) error {
				err := s.client.Del(ctx, s.streamKey(id)).Err() // an entry cannot be changed
				for i, entry := range entries {
					value := []byte(entry.Values["e"].(string))
					if i == 0 {
						value = b
					}
					err = errors.Join(err, s.client.XAdd(ctx, &redis.XAddArgs{Stream: s.streamKey(id), ID: entry.ID, Values: []any{"e", value}}).Err())
				}
				return err
			}})
		}
		return cells
	})
}
