// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Batch, as the API has it. What is null is left out.
 *
 * @param tasks see the API
 * @param dryRun Only say what would become of each; nothing is created. A task that would be is answered with an id of zeros; a key that is in the batch twice is there for the second, with no task.
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
