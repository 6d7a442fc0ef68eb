"""Pausing of jobs, what became of each failed attempt, and the workers that listen."""

import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('ingestion', '0010_sources'),
    ]

    operations = [
        migrations.CreateModel(
            name='WorkerHeartbeat',
            fields=[
                ('name', models.CharField(max_length=200, primary_key=True, serialize=False)),
                ('queues', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=16), size=None)),
                ('processes', models.PositiveSmallIntegerField(default=1)),
                ('started_at', models.DateTimeField()),
                ('seen_at', models.DateTimeField()),
            ],
        ),
        migrations.AddField(
            model_name='job',
            name='paused_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='stagerun',
            name='evidence',
            field=models.JSONField(blank=True, default=list),
        ),
        migrations.AddIndex(
            model_name='stagerun',
            index=models.Index(condition=models.Q(('finished_at__isnull', False)), fields=['finished_at'], name='stage_finished'),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.CheckConstraint(condition=models.Q(('paused_at__isnull', True), ('state__in', ['queued', 'running']), _connector='OR'), name='job_paused_is_open'),
        ),
    ]
