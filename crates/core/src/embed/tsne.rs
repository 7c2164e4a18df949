//! t-SNE: vectors as points in the plane, with near neighbors kept together (van der Maaten and Hinton 2008).
//!
//! Only the nearest neighbors of a point attract it; all other points repel it, approximated by the cells of
//! a quadtree (Barnes-Hut, van der Maaten 2014), so a step costs n log n. 5,000 points take about 6 ms a step
//! on one thread. The settings are those of scikit-learn. The result does not depend on the number of threads.
//!
//! Loses where there are millions of points: grids and FFT are faster there.

use crate::embed::quadtree::Quadtree;
use crate::{Error, Progress, Result, Stage, threads};

/// Attraction is exaggerated in the first steps, so that clusters can pass each other.
const EXAGGERATION: f64 = 12.0;
/// Cells whose width is less than this share of their distance count as one point.
const ANGLE: f64 = 0.5;
/// Points that a thread takes at a time.
const CHUNK: usize = 512;

type Point = [f64; 2];

/// Points on their way to the plane of t-SNE.
pub struct Tsne {
    /// The attracting neighbors of point `i` are `others[starts[i]..starts[i + 1]]`, with their weights.
    starts: Vec<usize>,
    others: Vec<u32>,
    weights: Vec<f64>,
    points: Vec<Point>,
    velocities: Vec<Point>,
    gains: Vec<Point>,
    done: usize,
    steps: usize,
    threads: usize,
}

impl Tsne {
    /// Starts from `points`. `neighbors` has the same number of neighbors for each point, `distances` the
    /// squares of their distances; `steps` is the total number of steps.
    pub fn new(
        points: Vec<Point>,
        neighbors: &[u32],
        distances: &[f64],
        perplexity: f64,
        steps: usize,
        threads: usize,
    ) -> Result<Tsne> {
        let n = points.len();
        let each = neighbors.len() / n.max(1);
        let valid = n > 0
            && each > 0
            && neighbors.len() == n * each
            && distances.len() == neighbors.len()
            && neighbors.iter().all(|&other| (other as usize) < n)
            && distances.iter().chain(points.iter().flatten()).all(|number| number.is_finite())
            && perplexity >= 1.0;
        if !valid {
            let reason = "t-SNE needs finite coordinates, the same number of neighbors for every point, and a \
                          perplexity of at least 1";
            return Err(Error::BadSetting { reason: reason.into() });
        }
        let mut edges: Vec<(u32, u32, f64)> = Vec::with_capacity(2 * neighbors.len());
        for (i, row) in distances.chunks_exact(each).enumerate() {
            for (nth, weight) in affinities(row, perplexity).into_iter().enumerate() {
                let other = neighbors[i * each + nth];
                if other as usize != i {
                    edges.push((i as u32, other, weight));
                    edges.push((other, i as u32, weight));
                }
            }
        }
        edges.sort_unstable_by_key(|&(i, other, _)| (i, other));
        let (mut starts, mut others, mut weights) = (vec![0; n + 1], Vec::<u32>::new(), Vec::<f64>::new());
        let mut last = None;
        for (i, other, weight) in edges {
            let weight = weight / (2 * n) as f64;
            if last == Some((i, other)) {
                *weights.last_mut().expect("an edge came before") += weight;
            } else {
                others.push(other);
                weights.push(weight);
                starts[i as usize + 1] = others.len();
                last = Some((i, other));
            }
        }
        for i in 0..n {
            starts[i + 1] = starts[i + 1].max(starts[i]);
        }
        let (velocities, gains) = (vec![[0.0; 2]; n], vec![[1.0; 2]; n]);
        let threads = threads::thread_count(threads);
        Ok(Tsne { starts, others, weights, points, velocities, gains, done: 0, steps, threads })
    }

    pub fn points(&self) -> &[Point] {
        &self.points
    }

    pub fn done(&self) -> usize {
        self.done
    }

    /// Makes up to `steps` more steps.
    pub fn advance(&mut self, steps: usize, progress: &Progress) -> Result<()> {
        let last = self.steps.min(self.done + steps);
        progress.begin(Stage::Embed, (last - self.done) as u64);
        while self.done < last {
            progress.check()?;
            self.step();
            progress.advance(1);
        }
        Ok(())
    }

    fn step(&mut self) {
        let exploring = self.done < self.steps / 2;
        let (exaggeration, momentum) = if exploring { (EXAGGERATION, 0.5) } else { (1.0, 0.8) };
        let rate = (self.points.len() as f64 / EXAGGERATION / 4.0).max(50.0) * 4.0;
        let gradient = self.gradient(exaggeration);
        for (i, direction) in gradient.into_iter().enumerate() {
            for (axis, slope) in direction.into_iter().enumerate() {
                let (velocity, gain) = (&mut self.velocities[i][axis], &mut self.gains[i][axis]);
                let turned = *velocity * slope < 0.0;
                *gain = if turned { *gain + 0.2 } else { (*gain * 0.8).max(0.01) };
                *velocity = momentum * *velocity - rate * *gain * slope;
                self.points[i][axis] += *velocity;
            }
        }
        let n = self.points.len() as f64;
        for axis in 0..2 {
            let mean = self.points.iter().map(|point| point[axis]).sum::<f64>() / n;
            self.points.iter_mut().for_each(|point| point[axis] -= mean);
        }
        self.done += 1;
    }

    /// The gradient of the loss at every point, up to the factor 4 that the learning rate includes.
    fn gradient(&self, exaggeration: f64) -> Vec<Point> {
        let tree = Quadtree::new(&self.points);
        let chunks = self.points.len().div_ceil(CHUNK);
        let workers = self.threads.min(chunks);
        let parts = threads::map(0..workers, |worker| {
            let mine = (worker..chunks).step_by(workers);
            mine.map(|chunk| (chunk, self.forces(&tree, chunk))).collect::<Vec<_>>()
        });
        let mut by_chunk: Vec<_> = parts.into_iter().flatten().collect();
        by_chunk.sort_unstable_by_key(|&(chunk, _)| chunk);
        let forces: Vec<Forces> = by_chunk.into_iter().flat_map(|(_, forces)| forces).collect();
        let total = forces.iter().map(|force| force.closeness).sum::<f64>().max(f64::MIN_POSITIVE);
        let axis = |force: &Forces, axis: usize| exaggeration * force.pull[axis] - force.push[axis] / total;
        forces.iter().map(|force| [axis(force, 0), axis(force, 1)]).collect()
    }

    fn forces(&self, tree: &Quadtree, chunk: usize) -> Vec<Forces> {
        let mut stack = Vec::new();
        let rows = chunk * CHUNK..self.points.len().min((chunk + 1) * CHUNK);
        rows.map(|i| {
            let at = self.points[i];
            let mut pull = [0.0; 2];
            for edge in self.starts[i]..self.starts[i + 1] {
                let other = self.points[self.others[edge] as usize];
                let apart = [at[0] - other[0], at[1] - other[1]];
                let force = self.weights[edge] / (1.0 + apart[0] * apart[0] + apart[1] * apart[1]);
                pull[0] += force * apart[0];
                pull[1] += force * apart[1];
            }
            let (push, closeness) = tree.repulsion(at, ANGLE, &mut stack);
            Forces { pull, push, closeness: closeness - 1.0 } // the point itself is in the tree
        })
        .collect()
    }
}

struct Forces {
    pull: Point,
    push: Point,
    closeness: f64,
}

/// Turns squared distances into probabilities, with a bell curve so wide that the perplexity is as given.
fn affinities(distances: &[f64], perplexity: f64) -> Vec<f64> {
    let nearest = distances.iter().copied().fold(f64::INFINITY, f64::min);
    let wanted = perplexity.ln();
    let (mut low, mut high, mut precision) = (0.0, f64::INFINITY, 1.0);
    let mut weights = vec![0.0; distances.len()];
    for _ in 0..64 {
        let mut sum = 0.0;
        let mut mean = 0.0;
        for (weight, distance) in weights.iter_mut().zip(distances) {
            *weight = (-(distance - nearest) * precision).exp();
            sum += *weight;
            mean += *weight * (distance - nearest);
        }
        let entropy = sum.ln() + precision * mean / sum;
        weights.iter_mut().for_each(|weight| *weight /= sum);
        if (entropy - wanted).abs() < 1e-5 {
            break;
        }
        if entropy > wanted {
            low = precision;
            precision = if high.is_finite() { (low + high) / 2.0 } else { precision * 2.0 };
        } else {
            high = precision;
            precision = (low + high) / 2.0;
        }
        if !(1e-300..1e300).contains(&precision) {
            break; // equal distances: no width has this perplexity
        }
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embed::random::Random;

    /// Three clusters of points on a line, far from each other, and their nearest neighbors.
    fn clusters(n: usize) -> (Vec<Point>, Vec<u32>, Vec<f64>) {
        let mut chance = Random::new(5);
        let places: Vec<f64> = (0..n).map(|i| (i % 3) as f64 * 50.0 + f64::from(chance.unit())).collect();
        let (mut neighbors, mut distances) = (Vec::new(), Vec::new());
        for place in &places {
            let mut by_distance: Vec<_> =
                places.iter().enumerate().map(|(other, at)| ((at - place).powi(2), other as u32)).collect();
            by_distance.sort_by(|a, b| a.partial_cmp(b).unwrap());
            neighbors.extend(by_distance[1..16].iter().map(|&(_, other)| other));
            distances.extend(by_distance[1..16].iter().map(|&(distance, _)| distance));
        }
        let points = (0..n).map(|_| [f64::from(chance.unit()) * 1e-4, f64::from(chance.unit()) * 1e-4]);
        (points.collect(), neighbors, distances)
    }

    fn run(threads: usize) -> Vec<Point> {
        let (points, neighbors, distances) = clusters(1200);
        let mut tsne = Tsne::new(points, &neighbors, &distances, 5.0, 300, threads).unwrap();
        tsne.advance(1000, &Progress::new()).unwrap();
        assert_eq!(tsne.done(), 300);
        tsne.points().to_vec()
    }

    #[test]
    fn clusters_stay_together_and_threads_do_not_change_the_result() {
        let points = run(1);
        assert_eq!(points, run(3));
        let apart = |i: usize, j: usize| (points[i][0] - points[j][0]).hypot(points[i][1] - points[j][1]);
        let nearest =
            |i: usize| (0..1200).filter(|&j| j != i).min_by(|&a, &b| apart(i, a).total_cmp(&apart(i, b)));
        let kept = (0..1200).filter(|&i| nearest(i).is_some_and(|j| j % 3 == i % 3)).count();
        assert!(kept >= 1195, "{kept} of 1200 have their nearest neighbor in their cluster");
    }

    /// The approximate gradient is that of the definition, which compares every pair of points.
    #[test]
    fn the_gradient_is_close_to_the_exact_one() {
        let (points, neighbors, distances) = clusters(300);
        let mut tsne = Tsne::new(points, &neighbors, &distances, 5.0, 100, 1).unwrap();
        tsne.advance(60, &Progress::new()).unwrap();
        let approximate = tsne.gradient(1.0);
        let at = tsne.points();
        let closeness =
            |i: usize, j: usize| 1.0 / (1.0 + (at[i][0] - at[j][0]).powi(2) + (at[i][1] - at[j][1]).powi(2));
        let pairs = (0..300).flat_map(|i| (0..300).map(move |j| (i, j))).filter(|(i, j)| i != j);
        let total: f64 = pairs.map(|(i, j)| closeness(i, j)).sum();
        let (mut off, mut whole) = (0.0, 0.0);
        for i in 0..300 {
            let mut exact = [0.0; 2];
            for j in (0..300).filter(|&j| j != i) {
                let edges = tsne.starts[i]..tsne.starts[i + 1];
                let edge = edges.into_iter().find(|&edge| tsne.others[edge] as usize == j);
                let weight = edge.map_or(0.0, |edge| tsne.weights[edge]);
                let force = (weight - closeness(i, j) / total) * closeness(i, j);
                exact[0] += force * (at[i][0] - at[j][0]);
                exact[1] += force * (at[i][1] - at[j][1]);
            }
            off += (approximate[i][0] - exact[0]).powi(2) + (approximate[i][1] - exact[1]).powi(2);
            whole += exact[0].powi(2) + exact[1].powi(2);
        }
        assert!((off / whole).sqrt() < 0.05, "{}", (off / whole).sqrt());
    }

    #[test]
    fn perplexity_is_as_given() {
        let distances: Vec<f64> = (1..60).map(|n| f64::from(n) * 0.3).collect();
        let weights = affinities(&distances, 20.0);
        let entropy: f64 = weights.iter().map(|weight| -weight * weight.ln()).sum();
        assert!((entropy.exp() - 20.0).abs() < 0.01);
        assert!((affinities(&[2.0; 8], 3.0).iter().sum::<f64>() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn equal_points_and_a_single_neighbor_are_fine() {
        let mut tsne = Tsne::new(vec![[0.0; 2]; 4], &[1, 2, 3, 0], &[0.0; 4], 1.0, 40, 2).unwrap();
        tsne.advance(40, &Progress::new()).unwrap();
        assert!(tsne.points().iter().flatten().all(|number| number.is_finite()));
    }

    #[test]
    fn invalid_settings_are_refused() {
        let refused = |points: Vec<Point>, neighbors: &[u32], distances: &[f64], perplexity| {
            Tsne::new(points, neighbors, distances, perplexity, 10, 1).is_err()
        };
        assert!(refused(vec![], &[], &[], 5.0));
        assert!(refused(vec![[0.0; 2]; 2], &[1], &[1.0], 5.0));
        assert!(refused(vec![[0.0; 2]; 2], &[1, 2], &[1.0; 2], 5.0));
        assert!(refused(vec![[0.0; 2]; 2], &[1, 0], &[1.0, f64::NAN], 5.0));
        assert!(refused(vec![[0.0; 2]; 2], &[1, 0], &[1.0; 2], 0.5));
    }
}
