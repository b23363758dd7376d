import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ForkedImages } from '../../../src/sampler/processes/forked-images';

describe('the fate of a forked image', () => {
  it('is that of its process, whichever is known first', () => {
    const images = new ForkedImages();
    images.processEnded(7, false);
    images.dropOldFates();
    assert.equal(images.imageGone(7, '7.1/0'), true);
    assert.equal(images.imageGone(8, '8.1/0'), null);
    images.dropOldFates();
    assert.equal(images.processEnded(8, true), '8.1/0');
  });

  it('is no earlier process’s of the same number', () => {
    const images = new ForkedImages();
    images.processEnded(7, false);
    images.dropOldFates();
    images.dropOldFates();
    assert.equal(images.imageGone(7, '7.2/0'), null);
    assert.equal(images.processEnded(7, true), '7.2/0');
  });

  it('is no later process’s of the same number', () => {
    const images = new ForkedImages();
    assert.equal(images.imageGone(7, '7.1/0'), null);
    images.dropOldFates();
    images.dropOldFates();
    assert.equal(images.processEnded(7, false), null);
  });
});
