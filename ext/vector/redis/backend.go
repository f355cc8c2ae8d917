package redis

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/weftgo/weft/ext/vector"
	"github.com/weftgo/weft/schema"
)

// The fields of a hash, apart from the vector's, the ones for metadata on which filters are possible, and the user's.
const (
	fieldID       = "id"
	fieldContent  = "content"
	fieldMetaData = "metadata"
	// fieldDistance is no field, but an answer to a search has it among them.
	fieldDistance = "distance"
)

var ownFields = []string{fieldID, fieldContent, fieldMetaData, fieldDistance}

// backend stores documents, which both kinds of search have in common. An index has the keys
//
//	<prefix><index>:dimensions   how many dimensions the vectors have; not there before the first document
//	<prefix><index>:doc:<id>     a document
type backend struct{ conf Config }

// escapeIndex keeps the keys of an index from being keys of another one.
var escapeIndex = strings.NewReplacer("%", "%25", ":", "%3A")

// base begins all keys of an index. It is also the name of the search index.
func (b *backend) base(index string) string { return b.conf.KeyPrefix + escapeIndex.Replace(index) }

func (b *backend) documentPrefix(index string) string { return b.base(index) + ":doc:" }

// dimensions returns how many dimensions the vectors of an index have, and 0 if there are none.
func (b *backend) dimensions(ctx context.Context, index string) (int, error) {
	n, err := b.conf.Client.Get(ctx, b.base(index)+":dimensions").Int()
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	return n, err
}

// claimDimensions makes n the dimension of an index that has none yet, and checks it otherwise.
func (b *backend) claimDimensions(ctx context.Context, index string, n int) error {
	if err := b.conf.Client.SetNX(ctx, b.base(index)+":dimensions", n, 0).Err(); err != nil {
		return err
	}
	want, err := b.dimensions(ctx, index)
	if err == nil && want != n {
		err = &vector.DimensionError{Index: index, Want: want, Got: n}
	}
	return err
}

// write stores the records, or none of them.
func (b *backend) write(ctx context.Context, index string, records []vector.Record) error {
	hashes := make([]map[string]any, len(records))
	for i := range records {
		hash, err := b.hash(ctx, &records[i])
		if err != nil {
			return fmt.Errorf("document %q: %w", records[i].ID, err)
		}
		hashes[i] = hash
	}
	_, err := b.conf.Client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		for i := range records {
			key := b.documentPrefix(index) + records[i].ID
			p.Del(ctx, key) // fields of an old document that the new one lacks
			p.HSet(ctx, key, hashes[i])
		}
		return nil
	})
	return err
}

func (b *backend) hash(ctx context.Context, r *vector.Record) (map[string]any, error) {
	hash := map[string]any{}
	if b.conf.DocumentToHashes != nil {
		extra, err := b.conf.DocumentToHashes(ctx, &schema.Document{ID: r.ID, Content: r.Content, MetaData: r.Fields})
		if err != nil {
			return nil, fmt.Errorf("DocumentToHashes: %w", err)
		}
		for field, v := range extra {
			if slices.Contains(ownFields, field) || field == b.conf.VectorField || isMetaField(field) {
				return nil, fmt.Errorf("the field %q of DocumentToHashes is one of the store: choose another name", field)
			}
			hash[field] = v
		}
	}
	hash[fieldID], hash[fieldContent], hash[fieldMetaData] = r.ID, r.Content, r.MetaData
	hash[b.conf.VectorField] = vector.AppendVector(nil, r.Vector)
	for _, key := range b.filterKeys() {
		addMetaFields(hash, key, r.Fields[key])
	}
	return hash, nil
}

func (b *backend) Delete(ctx context.Context, index string, ids []string) error {
	_, err := b.conf.Client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, id := range ids {
			p.Del(ctx, b.documentPrefix(index)+id)
		}
		return nil
	})
	return err
}

// returned are the fields of which a match is made.
func (b *backend) returned() []string {
	return slices.Concat([]string{fieldID, fieldContent, fieldMetaData}, b.conf.ReturnFields)
}

// match makes a match of the fields of a hash.
func (b *backend) match(fields map[string]string, score float64) (vector.Match, error) {
	m := vector.Match{
		ID: fields[fieldID], Content: fields[fieldContent], MetaData: []byte(fields[fieldMetaData]), Score: score,
	}
	if len(b.conf.ReturnFields) == 0 {
		return m, nil
	}
	metadata := map[string]any{}
	decoder := json.NewDecoder(strings.NewReader(fields[fieldMetaData]))
	decoder.UseNumber()
	if err := decoder.Decode(&metadata); err != nil {
		return m, fmt.Errorf("metadata of document %q: %w", m.ID, err)
	}
	for _, field := range b.conf.ReturnFields {
		if text, ok := fields[field]; ok {
			metadata[field] = text
		}
	}
	var err error
	m.MetaData, err = json.Marshal(metadata)
	return m, err
}
