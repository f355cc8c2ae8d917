package redis

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/weftgo/weft/ext/vector"
)

// scanPage is the number of keys that are looked at, and how many vectors are read at most, with one command.
const scanPage = 500

// scanning searches by reading all vectors of an index.
type scanning struct{ *backend }

func (s scanning) Upsert(ctx context.Context, index string, records []vector.Record) error {
	if err := s.claimDimensions(ctx, index, len(records[0].Vector)); err != nil {
		return err
	}
	return s.write(ctx, index, records)
}

// escapeGlob makes a pattern that matches a text only.
var escapeGlob = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`)

func (s scanning) Search(ctx context.Context, q *vector.Query) ([]vector.Match, error) {
	dimensions, err := s.dimensions(ctx, q.Index)
	if err != nil || dimensions == 0 {
		return nil, err
	}
	if dimensions != len(q.Vector) {
		return nil, &vector.DimensionError{Index: q.Index, Want: dimensions, Got: len(q.Vector)}
	}
	top, seen := vector.NewTop[string](q.Limit), map[string]bool{}
	pattern := escapeGlob.Replace(s.documentPrefix(q.Index)) + "*"
	for cursor := uint64(0); ; {
		keys, next, err := s.conf.Client.Scan(ctx, cursor, pattern, scanPage).Result()
		if err != nil {
			return nil, fmt.Errorf("scanning the keys: %w", err)
		}
		unseen := keys[:0]
		for _, key := range keys { // a key may come more than once
			if !seen[key] {
				seen[key] = true
				unseen = append(unseen, key)
			}
		}
		if err := s.offer(ctx, q, unseen, top); err != nil {
			return nil, err
		}
		if cursor = next; cursor == 0 {
			break
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return s.matches(ctx, top.Best())
}

// read reads fields of several hashes. Those that are not there are missing in the answers.
func (s scanning) read(ctx context.Context, keys, fields []string) ([]map[string]string, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	commands := make([]*redis.SliceCmd, len(keys))
	_, err := s.conf.Client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, key := range keys {
			commands[i] = p.HMGet(ctx, key, fields...)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading %d documents: %w", len(keys), err)
	}
	hashes := make([]map[string]string, len(keys))
	for i, command := range commands {
		hashes[i] = make(map[string]string, len(fields))
		for f, v := range command.Val() {
			if text, ok := v.(string); ok {
				hashes[i][fields[f]] = text
			}
		}
	}
	return hashes, nil
}

// offer compares the query with documents.
func (s scanning) offer(ctx context.Context, q *vector.Query, keys []string, top *vector.Top[string]) error {
	fields := []string{s.conf.VectorField}
	if len(q.Filter) > 0 {
		fields = append(fields, fieldMetaData)
	}
	hashes, err := s.read(ctx, keys, fields)
	if err != nil {
		return err
	}
	for i, hash := range hashes {
		blob, there := hash[s.conf.VectorField]
		if !there {
			continue // deleted meanwhile
		}
		if len(blob) != 4*len(q.Vector) {
			return fmt.Errorf("the vector in %q has %d bytes and not %d: it was not written by this store",
				keys[i], len(blob), 4*len(q.Vector))
		}
		if len(q.Filter) > 0 {
			metadata, err := vector.DecodeMetaData([]byte(hash[fieldMetaData]))
			if err != nil {
				return fmt.Errorf("%q: %w", keys[i], err)
			}
			if !q.Filter.Match(metadata) {
				continue
			}
		}
		top.Offer(keys[i], vector.Dot(q.Vector, []byte(blob)))
	}
	return nil
}

// matches reads what was found.
func (s scanning) matches(ctx context.Context, found []vector.Scored[string]) ([]vector.Match, error) {
	keys := make([]string, len(found))
	for i := range found {
		keys[i] = found[i].Key
	}
	hashes, err := s.read(ctx, keys, s.returned())
	if err != nil {
		return nil, err
	}
	var matches []vector.Match
	for i, hash := range hashes {
		if _, there := hash[fieldID]; !there {
			continue // deleted meanwhile
		}
		m, err := s.match(hash, found[i].Score)
		if err != nil {
			return nil, err
		}
		matches = append(matches, m)
	}
	return matches, nil
}
