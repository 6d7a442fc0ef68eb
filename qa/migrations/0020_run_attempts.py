"""How often a question was taken: one that takes every worker with it must end."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('qa', '0001_initial'),
    ]

    operations = [
        migrations.AddField(
            model_name='run',
            name='attempts',
            field=models.PositiveSmallIntegerField(default=0),
        ),
    ]
