package sqlite

import "syscall"

// networkOf names the network file system that a folder is on, "" if it is on none that is known.
func networkOf(folder string) string {
	var fs syscall.Statfs_t
	if syscall.Statfs(folder, &fs) != nil {
		return ""
	}
	return networkNames[uint32(fs.Type)]
}

// networkNames has the magic numbers of statfs(2).
var networkNames = map[uint32]string{
	0x6969:     "NFS",
	0x517b:     "SMB",
	0xff534d42: "CIFS",
	0xfe534d42: "SMB2",
	0x564c:     "NCP",
	0x5346414f: "AFS",
	0x00c36400: "Ceph",
	0x0bd00bd0: "Lustre",
	0x01021997: "9P",
}
