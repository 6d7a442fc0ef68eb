"""Backup and restore of an installation: the database, the stored files it names, the published audit heads.

    FOLDER/manifest.json    what is in the backup, with sizes and SHA-256 sums; written last
    FOLDER/database.dump    pg_dump's custom format, of one snapshot; sessions are left out
    FOLDER/blobs.jsonl      one line for each stored file that this snapshot names: key, bytes, sha256
    FOLDER/blobs/KEY        those files
    FOLDER/heads/ID.jsonl   the published heads of each organisation's audit chain, up to the snapshot

While it is made the folder is called `FOLDER.partial`; only a whole backup gets its name. The secret key and
the passwords of the services are not in it. The passwords of people are, as hashes, and so are all documents.
"""
