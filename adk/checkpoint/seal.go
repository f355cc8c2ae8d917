package checkpoint

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"slices"

	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/runs"
)

// Keys are the master keys of a sealed store. Its methods must be safe for concurrent use.
type Keys interface {
	// Current returns the key that is written with, and its name, which is stored beside each value: at most 255 bytes.
	Current() (name string, key []byte, err error)
	// Key returns a key by its name. One that is gone is an error: what it sealed cannot be read any more. The store wraps
	// it, so that it matches [ErrNoKey].
	Key(name string) ([]byte, error)
}

// OneKey is a key that is used for everything.
//
// It has the methods of [Keys].
func OneKey(name string, key []byte) Keys { return oneKey{name, slices.Clone(key)} }

type oneKey struct {
	name string
	key  []byte
}

func (k oneKey) Current() (string, []byte, error) { return k.name, k.key, nil }

func (k oneKey) Key(name string) ([]byte, error) {
	if name != k.name {
		return nil, errors.New("there is no such key")
	}
	return k.key, nil
}

// Errors of sealed stores.
var (
	// ErrNotSealed says that a value was not written by a sealed store, or was cut off.
	ErrNotSealed = errors.New("the value is not sealed")
	// ErrNoKey says that the key is not there that a value was sealed with.
	ErrNoKey = errors.New("the key of the value is missing")
	// ErrSealBroken says that a value was changed, or belongs to another run, or that its key is another one of that name.
	// These cases cannot be told apart: under another key a value looks as one that was changed does, and nothing is stored
	// beside a value that would say which key it was (see [Keys]: a new key has a new name).
	ErrSealBroken = errors.New("the seal of the value is broken: it was changed or moved, or the key is not the one that it was sealed with")
)

// Seal returns a store that encrypts what a run contains before another store gets it: checkpoints, records, answers
// and results, and the Info and Summary of questions. What stores look for stays readable: IDs, states, agents, queues,
// keys, tags, times, whom a run waits for, and why it failed.
//
// It uses AES-256-GCM with a nonce of 12 random bytes, and a key of the run's own that is derived from the master key,
// of 32 bytes, and the ID by HKDF-SHA256 (RFC 5869), so that random nonces do not repeat under one key. The kind of the
// value and the ID are authenticated: a value that was moved to another run, or is another kind of value, does not
// open.
//
// To rotate keys, return a new one from Current and keep the old ones until [Reseal] has rewritten what they sealed. To
// make a tenant's data unreadable, give the tenant a store with keys of its own, and forget them.
func Seal(store runs.Store, keys Keys) runs.Store { return &sealed{store: store, keys: keys} }

// SealOptions configures [SealWith].
type SealOptions struct {
	// HashIDs, of at least 16 bytes, has IDs of runs, of their parents, and keys stored as their HMAC-SHA256 under it, such
	// as where an ID is the number of a customer. It must stay the same as long as the store has runs. The default is to
	// store IDs as they are.
	//
	// The ID that a run was submitted with is then known to the submitter alone: lists, leases and errors have the hash, a ~
	// and 43 characters. A method takes either; an ID of that form is taken for a hash. Checkpoints are not found by the
	// beginning of their ID.
	HashIDs []byte
}

// SealWith is [Seal] with options. It panics if they are bad.
func SealWith(store runs.Store, keys Keys, options SealOptions) runs.Store {
	if n := len(options.HashIDs); n > 0 && n < leastHashKey {
		panic(fmt.Sprintf("checkpoint: SealOptions.HashIDs has %d bytes; at least %d are needed", n, leastHashKey))
	}
	return &sealed{store, keys, slices.Clone(options.HashIDs)}
}

const leastHashKey = 16

type sealed struct {
	store runs.Store
	keys  Keys
	// hashKey is nil if IDs are stored as they are.
	hashKey []byte
}

// hashed is an ID that is a hash.
var hashed = regexp.MustCompile(`^~[A-Za-z0-9_-]{43}$`)

// name returns the name of an ID in the store. "" stays "": it is no ID.
func (s *sealed) name(id string) string {
	if s.hashKey == nil || id == "" || hashed.MatchString(id) {
		return id
	}
	mac := hmac.New(sha256.New, s.hashKey)
	mac.Write([]byte(id))
	return "~" + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// Unwrap returns the store that gets what is sealed.
func (s *sealed) Unwrap() Store { return s.store }

// Kinds of sealed values.
const (
	sealedCheckpoint = "checkpoint"
	sealedRecord     = "record"
	sealedAnswer     = "answer"
	sealedResult     = "result"
	sealedInfo       = "info"
	sealedEvent      = "event"
)

// A sealed value is the magic, a version, the length and the name of the key, the nonce and what GCM made of the value.
const (
	sealMagic   = "weftseal"
	sealVersion = 1
	masterSize  = 32
)

// sealContext returns the data that is authenticated with a value.
func sealContext(kind, id string) []byte {
	b := binary.AppendUvarint(nil, uint64(len(kind)))
	return append(append(b, kind...), id...)
}

// aeadOf makes the cipher of a run.
func aeadOf(master []byte, name, id string) (cipher.AEAD, error) {
	if len(master) != masterSize {
		return nil, fmt.Errorf("the key %q has %d bytes; %d are needed", name, len(master), masterSize)
	}
	key, err := hkdf.Key(sha256.New, master, nil, "weft run "+id, masterSize)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// SealEvent encrypts what an event of a run says, as [Seal] encrypts the values of the run, and OpenEvent decrypts it. They
// are for those who keep events.
func SealEvent(keys Keys, run string, data []byte) ([]byte, error) {
	return (&sealed{keys: keys}).seal(sealedEvent, run, data)
}

// OpenEvent is the opposite of [SealEvent].
func OpenEvent(keys Keys, run string, data []byte) ([]byte, error) {
	return (&sealed{keys: keys}).open(sealedEvent, run, data)
}

// seal encrypts a value.
func (s *sealed) seal(kind, id string, value []byte) ([]byte, error) {
	name, master, err := s.keys.Current()
	if err == nil && len(name) > 255 {
		err = fmt.Errorf("the name of the key has %d bytes; 255 are the most", len(name))
	}
	if err != nil {
		return nil, fmt.Errorf("seal the %s of run %q: %w", kind, id, err)
	}
	aead, err := aeadOf(master, name, id)
	if err != nil {
		return nil, fmt.Errorf("seal the %s of run %q: %w", kind, id, err)
	}
	out := append([]byte(sealMagic), sealVersion, byte(len(name)))
	out = append(out, name...)
	nonce := make([]byte, aead.NonceSize())
	_, _ = rand.Read(nonce) // never fails
	out = append(out, nonce...)
	return aead.Seal(out, nonce, value, sealContext(kind, id)), nil
}

// open decrypts a value.
func (s *sealed) open(kind, id string, data []byte) (value []byte, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("open the %s of run %q: %w", kind, id, err)
		}
	}()
	const head = len(sealMagic) + 2
	if len(data) < head || string(data[:len(sealMagic)]) != sealMagic {
		return nil, ErrNotSealed
	}
	if v := data[len(sealMagic)]; v != sealVersion {
		return nil, fmt.Errorf("%w: it is sealed in format %d", runs.ErrNewerFormat, v)
	}
	rest := data[head:]
	n := int(data[head-1])
	if len(rest) < n {
		return nil, ErrNotSealed
	}
	name := string(rest[:n])
	rest = rest[n:]
	master, err := s.keys.Key(name)
	if err != nil {
		return nil, fmt.Errorf("%w: key %q: %w", ErrNoKey, name, err)
	}
	aead, err := aeadOf(master, name, id)
	if err != nil {
		return nil, err
	}
	if len(rest) < aead.NonceSize()+aead.Overhead() {
		return nil, ErrNotSealed
	}
	value, err = aead.Open(nil, rest[:aead.NonceSize()], rest[aead.NonceSize():], sealContext(kind, id))
	if err != nil {
		return nil, ErrSealBroken
	}
	if value == nil {
		value = []byte{}
	}
	return value, nil
}

// openAll decrypts values of one kind.
func (s *sealed) openAll(kind, id string, all [][]byte) (values [][]byte, err error) {
	for i, data := range all {
		value, err := s.open(kind, id, data)
		if err != nil {
			return nil, fmt.Errorf("%s %d: %w", kind, i, err)
		}
		values = append(values, value)
	}
	return values, nil
}

// textEncoding encodes sealed values as text.
var textEncoding = base64.StdEncoding

// text is a sealed value where text is wanted.
func (s *sealed) text(kind, id, value string) (string, error) {
	if value == "" {
		return "", nil
	}
	data, err := s.seal(kind, id, []byte(value))
	return textEncoding.EncodeToString(data), err
}

func (s *sealed) openText(kind, id, text string) (string, error) {
	if text == "" {
		return "", nil
	}
	data, err := textEncoding.DecodeString(text)
	if err != nil {
		return "", fmt.Errorf("open the %s of run %q: %w", kind, id, ErrNotSealed)
	}
	value, err := s.open(kind, id, data)
	return string(value), err
}

// content holds what people read of a question. It is sealed as one value, which replaces the Info in the store.
type content struct {
	Text      string          `json:"text,omitempty"`
	Arguments string          `json:"arguments,omitempty"`
	Schema    json.RawMessage `json:"schema,omitempty"`
	URL       string          `json:"url,omitempty"`
	Info      json.RawMessage `json:"info,omitempty"`
}

// questions seals questions.
func (s *sealed) questions(id string, questions []runs.Question) ([]runs.Question, error) {
	questions = slices.Clone(questions)
	for i := range questions {
		q := &questions[i]
		if len(q.Info) > 0 && !json.Valid(q.Info) {
			q.Info, q.Truncated = nil, true
		}
		open, err := json.Marshal(content{q.Text, q.Arguments, q.Schema, q.URL, q.Info})
		if err != nil {
			return nil, err
		}
		text, err := s.text(sealedInfo, id, string(open))
		if err != nil {
			return nil, err
		}
		q.Text, q.Arguments, q.Schema, q.URL = "", "", nil, ""
		if q.Info, err = json.Marshal(text); err != nil {
			return nil, err
		}
	}
	return questions, nil
}

// info opens the questions of a run.
func (s *sealed) info(i runs.Info) (runs.Info, error) {
	i.Waiting = slices.Clone(i.Waiting)
	for k := range i.Waiting {
		q := &i.Waiting[k]
		var text string
		if json.Unmarshal(q.Info, &text) != nil {
			return i, fmt.Errorf("open the questions of run %q: %w", i.ID, ErrNotSealed)
		}
		text, err := s.openText(sealedInfo, i.ID, text)
		if err != nil {
			return i, err
		}
		var open content
		if err := json.Unmarshal([]byte(text), &open); err != nil {
			return i, fmt.Errorf("open the questions of run %q: %w", i.ID, ErrSealBroken)
		}
		q.Text, q.Arguments, q.Schema, q.URL, q.Info = open.Text, open.Arguments, open.Schema, open.URL, open.Info
	}
	return i, nil
}

// err opens what an error shows of a run.
func (s *sealed) err(err error) error {
	var state *runs.Error
	if !errors.As(err, &state) {
		return err
	}
	info, openErr := s.info(state.Info)
	if openErr != nil {
		return errors.Join(err, openErr)
	}
	return &runs.Error{Err: state.Err, Info: info}
}

// run seals the beginning of a run's journal.
func (s *sealed) run(id string, r runs.Spec) (_ runs.Spec, err error) {
	r.Records, r.Parent, r.Key = slices.Clone(r.Records), s.name(r.Parent), s.name(r.Key)
	for i := range r.Records {
		if r.Records[i], err = s.seal(sealedRecord, id, r.Records[i]); err != nil {
			return r, err
		}
	}
	return r, nil
}

func (s *sealed) Get(ctx context.Context, id string) ([]byte, bool, error) {
	id = s.name(id)
	return s.opened(id)(s.store.Get(ctx, id))
}

// opened opens a checkpoint that was read.
func (s *sealed) opened(id string) func([]byte, bool, error) ([]byte, bool, error) {
	return func(data []byte, exists bool, err error) ([]byte, bool, error) {
		if err != nil || !exists {
			return nil, false, err
		}
		data, err = s.open(sealedCheckpoint, id, data)
		return data, err == nil, err
	}
}

func (s *sealed) Set(ctx context.Context, id string, checkPoint []byte) error {
	id = s.name(id)
	data, err := s.seal(sealedCheckpoint, id, checkPoint)
	if err != nil {
		return err
	}
	return s.store.Set(ctx, id, data)
}

func (s *sealed) Delete(ctx context.Context, id string) error {
	id = s.name(id)
	return s.store.Delete(ctx, id)
}

func (s *sealed) ListCheckPoints(ctx context.Context, prefix string) iter.Seq2[runs.Listed, error] {
	return s.store.ListCheckPoints(ctx, prefix)
}

func (s *sealed) AppendRecord(ctx context.Context, id string, record []byte) error {
	id = s.name(id)
	data, err := s.seal(sealedRecord, id, record)
	if err != nil {
		return err
	}
	return s.store.AppendRecord(ctx, id, data)
}

func (s *sealed) ReadRecords(ctx context.Context, id string) ([][]byte, error) {
	id = s.name(id)
	all, err := s.store.ReadRecords(ctx, id)
	if err != nil {
		return nil, err
	}
	return s.openAll(sealedRecord, id, all)
}

func (s *sealed) ReadRecordsFrom(ctx context.Context, id string, from int) ([][]byte, error) {
	id = s.name(id)
	all, err := core.ReadRecordsFrom(ctx, s.store, id, from)
	if err != nil {
		return nil, err
	}
	return s.openAll(sealedRecord, id, all)
}

func (s *sealed) RemoveRecords(ctx context.Context, id string) error {
	id = s.name(id)
	return s.store.RemoveRecords(ctx, id)
}

func (s *sealed) lease(l runs.Lease, err error) (runs.Lease, error) {
	if err != nil {
		return nil, s.err(err)
	}
	info, err := s.info(l.Info())
	return &sealedLease{l, s, info, err}, nil
}

func (s *sealed) Acquire(ctx context.Context, id string, req runs.LeaseRequest) (runs.Lease, error) {
	id = s.name(id)
	if req.Create != nil {
		run, err := s.run(id, *req.Create)
		if err != nil {
			return nil, err
		}
		req.Create = &run
	}
	return s.lease(s.store.Acquire(ctx, id, req))
}

func (s *sealed) AcquireDue(ctx context.Context, req runs.LeaseRequest, due runs.Due) (runs.Lease, error) {
	return s.lease(s.store.AcquireDue(ctx, req, due))
}

func (s *sealed) Inspect(ctx context.Context, id string) (runs.Info, bool, error) {
	id = s.name(id)
	i, exists, err := s.store.Inspect(ctx, id)
	if err != nil || !exists {
		return runs.Info{}, false, err
	}
	i, err = s.info(i)
	return i, err == nil, err
}

func (s *sealed) Result(ctx context.Context, id string) ([]byte, error) {
	id = s.name(id)
	data, err := s.store.Result(ctx, id)
	if err != nil || len(data) == 0 {
		return data, err
	}
	return s.open(sealedResult, id, data)
}

func (s *sealed) List(ctx context.Context, q runs.Query) iter.Seq2[runs.Info, error] {
	return func(yield func(runs.Info, error) bool) {
		for i, err := range s.store.List(ctx, s.query(q)) {
			if err == nil {
				i, err = s.info(i)
			}
			if !yield(i, err) {
				return
			}
		}
	}
}

func (s *sealed) Count(ctx context.Context, q runs.Query) (map[runs.Status]int64, error) {
	return s.store.Count(ctx, s.query(q))
}

// query names what is looked for as the store does.
func (s *sealed) query(q runs.Query) runs.Query {
	q.Parent, q.Key = s.name(q.Parent), s.name(q.Key)
	return q
}

func (s *sealed) Submit(ctx context.Context, id string, run runs.Spec) (runs.Info, error) {
	id = s.name(id)
	run, err := s.run(id, run)
	if err != nil {
		return runs.Info{}, err
	}
	i, err := s.store.Submit(ctx, id, run)
	opened, openErr := s.info(i)
	if openErr != nil {
		return i, errors.Join(err, openErr)
	}
	return opened, s.err(err)
}

func (s *sealed) Reply(ctx context.Context, id string, answers ...runs.Reply) (err error) {
	id = s.name(id)
	answers = slices.Clone(answers)
	for i := range answers {
		if answers[i], err = answers[i].Encoded(); err != nil {
			return err
		}
		if answers[i].Data, err = s.seal(sealedAnswer, id, answers[i].Data); err != nil {
			return err
		}
	}
	return s.err(s.store.Reply(ctx, id, answers...))
}

func (s *sealed) Stop(ctx context.Context, id string, how runs.StopRequest) error {
	id = s.name(id)
	return s.err(s.store.Stop(ctx, id, how))
}

func (s *sealed) Continue(ctx context.Context, id string) error {
	id = s.name(id)
	return s.err(s.store.Continue(ctx, id))
}

func (s *sealed) Remove(ctx context.Context, id string, force bool) error {
	id = s.name(id)
	return s.store.Remove(ctx, id, force)
}

func (s *sealed) Sweep(ctx context.Context, limit int) (runs.Swept, error) {
	return s.store.Sweep(ctx, limit)
}

// sealedLease is the lease of a run whose values are sealed.
type sealedLease struct {
	runs.Lease
	sealed *sealed
	info   runs.Info
	// broken is the reason for which the questions of the run cannot be read.
	broken error
}

func (l *sealedLease) Info() runs.Info { return l.info }

func (l *sealedLease) Get(ctx context.Context, id string) ([]byte, bool, error) {
	id = l.sealed.name(id)
	return l.sealed.opened(id)(l.Lease.Get(ctx, id))
}

func (l *sealedLease) Set(ctx context.Context, id string, checkPoint []byte) error {
	id = l.sealed.name(id)
	data, err := l.sealed.seal(sealedCheckpoint, id, checkPoint)
	if err != nil {
		return err
	}
	return l.Lease.Set(ctx, id, data)
}

func (l *sealedLease) AppendRecord(ctx context.Context, id string, record []byte) error {
	id = l.sealed.name(id)
	data, err := l.sealed.seal(sealedRecord, id, record)
	if err != nil {
		return err
	}
	return l.Lease.AppendRecord(ctx, id, data)
}

func (l *sealedLease) ReadRecords(ctx context.Context, id string) ([][]byte, error) {
	id = l.sealed.name(id)
	all, err := l.Lease.ReadRecords(ctx, id)
	if err != nil {
		return nil, err
	}
	return l.sealed.openAll(sealedRecord, id, all)
}

func (l *sealedLease) Delete(ctx context.Context, id string) error {
	return l.Lease.Delete(ctx, l.sealed.name(id))
}

func (l *sealedLease) RemoveRecords(ctx context.Context, id string) error {
	return l.Lease.RemoveRecords(ctx, l.sealed.name(id))
}

func (l *sealedLease) Replies(ctx context.Context) ([]runs.Reply, error) {
	answers, err := l.Lease.Replies(ctx)
	if err != nil || l.broken != nil {
		return nil, errors.Join(err, l.broken)
	}
	for i := range answers {
		if answers[i].Data, err = l.sealed.open(sealedAnswer, l.info.ID, answers[i].Data); err != nil {
			return nil, err
		}
	}
	return answers, nil
}

func (l *sealedLease) Settle(ctx context.Context, end runs.Settlement) (err error) {
	id, s := l.info.ID, l.sealed
	if end.Checkpoint != nil {
		if end.Checkpoint, err = s.seal(sealedCheckpoint, id, end.Checkpoint); err != nil {
			return err
		}
	}
	if len(end.Result) > 0 {
		if end.Result, err = s.seal(sealedResult, id, end.Result); err != nil {
			return err
		}
	}
	if l.info.Parent != "" { // it is opened by that run
		if end.Answer, err = s.seal(sealedAnswer, l.info.Parent, end.Answer); err != nil {
			return err
		}
	}
	if end.Waiting, err = s.questions(id, end.Waiting); err != nil {
		return err
	}
	end.Children = slices.Clone(end.Children)
	for i := range end.Children {
		c := &end.Children[i]
		c.ID = s.name(c.ID)
		if c.Run, err = s.run(c.ID, c.Run); err != nil {
			return err
		}
	}
	return l.Lease.Settle(ctx, end)
}
