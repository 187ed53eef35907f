// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Backup, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param dir An absolute path on the server, of a directory that does not exist.
 * @param reason Written to the audit record.
 */
public record Backup(
        String dir,
        String reason) implements Shape {
    static Backup of(Object json) {
        var r = Shape.Reader.of("Backup", json);
        return new Backup(
                r.text("dir"),
                r.text("reason"));
    }

    @Override
    public Map<String, Object> asMap() {
        return Shape.fields(
                "dir", dir,
                "reason", reason);
    }
}
