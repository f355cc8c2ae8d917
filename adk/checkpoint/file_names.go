package checkpoint

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/weftgo/weft/adk/checkpoint/storekit"
	"github.com/weftgo/weft/runs"
)

// A file's name is
//
//	<what is harmless in the ID>=<the ID in base 32><ending>   of an ID of up to longestNamed bytes
//	<what is harmless in the ID>-<its hash in base 32><ending> of a longer one, with the ID in the file ending in .id
const (
	longestNamed   = 100
	longestComment = 40
	idFile         = ".id"
)

var nameEncoding = base32.StdEncoding.WithPadding(base32.NoPadding)

// path is the place where the file of an ID lies.
func (s *FileStore) path(checkPointID, ending string) string {
	return filepath.Join(s.dir, fileName(checkPointID)+ending)
}

// fileName is the name for an ID: short, and made of small letters, digits and signs that no file system mistakes for
// something special.
func fileName(checkPointID string) string {
	name := make([]byte, 0, longestComment+1+nameEncoding.EncodedLen(longestNamed))
	for _, c := range []byte(checkPointID[:min(len(checkPointID), longestComment)]) {
		switch {
		case 'a' <= c && c <= 'z' || '0' <= c && c <= '9':
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		default:
			c = '-'
		}
		name = append(name, c)
	}
	if name = bytes.Trim(name, "-"); len(name) == 0 {
		name = []byte("id")
	}
	if len(checkPointID) <= longestNamed {
		return string(name) + "=" + strings.ToLower(nameEncoding.EncodeToString([]byte(checkPointID)))
	}
	hash := sha256.Sum256([]byte(checkPointID))
	return string(name) + "-" + strings.ToLower(nameEncoding.EncodeToString(hash[:]))
}

// idOf reads the ID out of the name of a file, and out of the file beside it if the name has a hash.
func (s *FileStore) idOf(name string) (string, error) {
	if _, encoded, ok := strings.Cut(name, "="); ok {
		id, err := nameEncoding.DecodeString(strings.ToUpper(encoded))
		return string(id), err
	}
	id, err := os.ReadFile(filepath.Join(s.dir, name+idFile))
	if err == nil && fileName(string(id)) != name {
		err = errors.New("the file belongs to another checkpoint ID: something else has written to the directory")
	}
	return string(id), err
}

// checkNames refuses a directory with files whose names no ID has: files of an older build, whose runs would not be found,
// and would begin again.
func (s *FileStore) checkNames() error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		ending := filepath.Ext(e.Name())
		if ending != checkpointFile && ending != journalFile && ending != rowFile {
			continue
		}
		if name := strings.TrimSuffix(e.Name(), ending); !s.isName(name) {
			return fmt.Errorf("the file %q was written by an older Weft, which named files otherwise: finish its runs with that, "+
				"and take another directory or remove its files", e.Name())
		}
	}
	return nil
}

// isName reports whether a file is named as this package does. A file with a hash has its ID beside it from the beginning.
func (s *FileStore) isName(name string) bool {
	id, err := s.idOf(name)
	return err == nil && fileName(id) == name
}

// nameHashed writes the ID of a file whose name does not have it. The file stays when the checkpoint and the journal
// are deleted.
func (s *FileStore) nameHashed(ctx context.Context, checkPointID string) error {
	if len(checkPointID) <= longestNamed {
		return nil
	}
	path := s.path(checkPointID, idFile)
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return s.disk.replace(ctx, path, []byte(checkPointID))
}

// ListCheckPoints yields the IDs that begin with a prefix. It yields those that exist when the loop begins.
func (s *FileStore) ListCheckPoints(ctx context.Context, prefix string) iter.Seq2[runs.Listed, error] {
	return func(yield func(runs.Listed, error) bool) {
		infos, err := s.infos(ctx, prefix)
		if err != nil {
			yield(runs.Listed{}, storekit.Failed("list", prefix, err))
			return
		}
		yieldSorted(ctx, infos, yield)
	}
}

func (s *FileStore) infos(ctx context.Context, prefix string) ([]runs.Listed, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, err
	}
	byName := map[string]runs.Listed{}
	for _, e := range entries {
		ending := filepath.Ext(e.Name())
		if ending != checkpointFile && ending != journalFile {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		file, err := e.Info()
		if err != nil { // it has just been deleted
			continue
		}
		name := strings.TrimSuffix(e.Name(), ending)
		info, known := byName[name]
		if !known {
			if info.ID, err = s.idOf(name); err != nil { // nothing of this store
				continue
			}
		}
		if file.ModTime().After(info.Modified) {
			info.Modified = file.ModTime()
		}
		byName[name] = info
	}
	var infos []runs.Listed
	for _, info := range byName {
		if strings.HasPrefix(info.ID, prefix) {
			infos = append(infos, info)
		}
	}
	return infos, nil
}
