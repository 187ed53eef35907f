// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Batch, as the API has it. What is null is left out.
 *
 * @param tasks see the API
 * @param dryRun Dry run: nothing is created. A task that would be created has an id of zeros. A key that is in the batch twice exists for the second task, without an id.
 */
public record Batch(
        List<CreateTask> tasks,
        Boolean dryRun) implements Shape {
    @Override
    public Map<String, Object> asMap() {
        return Shape.fields(
                "tasks", tasks,
                "dry_run", dryRun);
    }
}
