package vector

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/components/embedding"
)

// embed makes one vector for each text. Without texts the embedder is not called.
func embed(ctx context.Context, emb embedding.Embedder, texts []string) ([][]float64, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	if emb == nil {
		return nil, errors.New("there is no embedder: set Embedding in the config, or use WithEmbedding")
	}
	info := &callbacks.RunInfo{Component: components.ComponentOfEmbedding}
	info.Type, _ = components.GetType(emb)
	ctx = callbacks.ReuseHandlers(ctx, info)
	if components.IsCallbacksEnabled(emb) {
		return embedChecked(ctx, emb, texts)
	}
	ctx = callbacks.OnStart(ctx, &embedding.CallbackInput{Texts: texts})
	vectors, err := embedChecked(ctx, emb, texts)
	if err != nil {
		callbacks.OnError(ctx, err)
		return nil, err
	}
	callbacks.OnEnd(ctx, &embedding.CallbackOutput{Embeddings: vectors})
	return vectors, nil
}

func embedChecked(ctx context.Context, emb embedding.Embedder, texts []string) ([][]float64, error) {
	vectors, err := emb.EmbedStrings(ctx, texts)
	if err != nil {
		return nil, fmt.Errorf("embedding %d texts: %w", len(texts), err)
	}
	if len(vectors) != len(texts) {
		return nil, fmt.Errorf("the embedder made %d vectors of %d texts", len(vectors), len(texts))
	}
	return vectors, nil
}

// unit returns the vector scaled to the length 1. Without that, numbers that a float32 cannot hold would be lost.
func unit(vector []float64) ([]float32, error) {
	if len(vector) == 0 {
		return nil, errors.New("the vector has no dimensions")
	}
	var largest float64
	for i, x := range vector {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, fmt.Errorf("dimension %d of the vector is %v, which is no finite number", i, x)
		}
		largest = max(largest, math.Abs(x))
	}
	if largest == 0 {
		return nil, errors.New("all dimensions of the vector are zero, so it has no direction to compare")
	}
	var sum float64
	for _, x := range vector {
		sum += (x / largest) * (x / largest)
	}
	length := math.Sqrt(sum)
	scaled := make([]float32, len(vector))
	for i, x := range vector {
		scaled[i] = float32(x / largest / length)
	}
	return scaled, nil
}

// sameDimension checks the vectors of one batch against each other.
func sameDimension(records []Record) error {
	for i := range records {
		if want, got := len(records[0].Vector), len(records[i].Vector); got != want {
			return fmt.Errorf("the vector of document %q has %d dimensions, that of %q has %d: all must have the same",
				records[i].ID, got, records[0].ID, want)
		}
	}
	return nil
}

// AppendVector appends the vector as little-endian float32 values, as databases keep it.
func AppendVector(blob []byte, vector []float32) []byte {
	for _, x := range vector {
		blob = binary.LittleEndian.AppendUint32(blob, math.Float32bits(x))
	}
	return blob
}

// Dot returns the dot product of a vector and one that [AppendVector] wrote, which must be as long: for vectors of the
// length 1 the cosine of the angle between them.
func Dot(vector []float32, blob []byte) float64 {
	var a, b, c, d float32
	for len(vector) >= 4 && len(blob) >= 16 {
		a += vector[0] * math.Float32frombits(binary.LittleEndian.Uint32(blob[0:]))
		b += vector[1] * math.Float32frombits(binary.LittleEndian.Uint32(blob[4:]))
		c += vector[2] * math.Float32frombits(binary.LittleEndian.Uint32(blob[8:]))
		d += vector[3] * math.Float32frombits(binary.LittleEndian.Uint32(blob[12:]))
		vector, blob = vector[4:], blob[16:]
	}
	for i, x := range vector {
		a += x * math.Float32frombits(binary.LittleEndian.Uint32(blob[4*i:]))
	}
	return float64(a) + float64(b) + float64(c) + float64(d)
}
