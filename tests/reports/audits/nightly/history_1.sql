PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE draftproof_settings (
	name VARCHAR(40) NOT NULL, 
	value TEXT NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO draftproof_settings VALUES('schema','1');
INSERT INTO draftproof_settings VALUES('lifetime_alpha','0.001');
CREATE TABLE draftproof_cohorts (
	number INTEGER NOT NULL, 
	subject TEXT NOT NULL, 
	version TEXT NOT NULL, 
	begun VARCHAR(40) NOT NULL, 
	PRIMARY KEY (number)
);
INSERT INTO draftproof_cohorts VALUES(1,'wrong.py:verify','one sha256:dd50b1c98317c0c67430fb4721ae0cb67a214f0e1900e216db92e255069646ba float64 numpy','2026-11-23T01:49:05+00:00');
CREATE TABLE draftproof_checks (
	id INTEGER NOT NULL, 
	"key" VARCHAR(64) NOT NULL, 
	cohort INTEGER NOT NULL, 
	subject TEXT NOT NULL, 
	version TEXT NOT NULL, 
	name TEXT NOT NULL, 
	parameters TEXT NOT NULL, 
	state TEXT NOT NULL, 
	log_e VARCHAR(32) NOT NULL, 
	peak VARCHAR(32) NOT NULL, 
	draws BIGINT NOT NULL, 
	night VARCHAR(10) NOT NULL, 
	seen VARCHAR(40) NOT NULL, 
	impossible TEXT, 
	alarm VARCHAR(10), 
	witness TEXT, 
	PRIMARY KEY (id), 
	UNIQUE ("key"), 
	FOREIGN KEY(cohort) REFERENCES draftproof_cohorts (number)
);
INSERT INTO draftproof_checks VALUES(1,'d9712f990beda2e90020ef8df0721d8670dc8cf614a80c690b3608ccfd32ffff',1,'wrong.py:verify','one sha256:dd50b1c98317c0c67430fb4721ae0cb67a214f0e1900e216db92e255069646ba float64 numpy','toy','{"completed":"Lemma 2","problem":{"draft":["2/3","1/3"],"gamma":1,"name":"toy","target":["1/3","2/3"],"vocabulary":2}}','{"night":1,"most":32,"impossible":{},"starts":[{"weight":-0.9967682833345792,"counts":[457,865,563,1115]}]}','64.85357970899','64.85357970899',3000,'2026-01-01','2026-11-23T01:49:05+00:00',NULL,'2026-01-01','{"problem": {"name": "toy-shrunk", "vocabulary": 2, "gamma": 1, "target": ["1/3", "2/3"], "draft": ["1/2", "1/2"]}, "sequence": "0", "expected": "0.333333", "observed": "1343/3463", "smallest": true, "draws": 3463, "seed": 762099913577152951, "replay": "draftproof audit wrong.py:verify --problem ''{\"name\":\"toy-shrunk\",\"vocabulary\":2,\"gamma\":1,\"target\":[\"1/3\",\"2/3\"],\"draft\":[\"1/2\",\"1/2\"]}''"}');
CREATE TABLE draftproof_batches (
	id INTEGER NOT NULL, 
	check_id INTEGER NOT NULL, 
	night VARCHAR(10) NOT NULL, 
	at VARCHAR(40) NOT NULL, 
	seed VARCHAR(40) NOT NULL, 
	draws BIGINT NOT NULL, 
	counts TEXT NOT NULL, 
	log_e VARCHAR(32) NOT NULL, 
	seconds FLOAT NOT NULL, 
	environment TEXT NOT NULL, 
	PRIMARY KEY (id), 
	CONSTRAINT draftproof_seed_once UNIQUE (check_id, seed), 
	FOREIGN KEY(check_id) REFERENCES draftproof_checks (id)
);
INSERT INTO draftproof_batches VALUES(1,1,'2026-01-01','2026-11-23T01:49:05+00:00','1595344495270587739',3000,'[457,865,563,1115,0]','64.85357970899',0.41476192999925842741,'{"draftproof": "0.1.0", "numpy": "2.4.6"}');
CREATE INDEX ix_draftproof_batches_check_id ON draftproof_batches (check_id);
COMMIT;
