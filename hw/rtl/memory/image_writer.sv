// Writes the images of frames into their slots: the raw one, and with Correct also the corrected one, at an offset behind it.
// A pulse tells when all of a frame is in memory, in order. Moves bytes only: frame_store decides which frames and where.
//
//   pixels --------> s2mm -> memory                        without Correct
//
//   pixels -> fork -> s2mm ------------> memory            with it
//              '----> jf_correct -> s2mm -> memory
//   constants in memory -> jf_constants ^
module image_writer
  import axi_pkg::*;
  import framelane_pkg::correction_t;
  import jf_pkg::PLANES;
  import jf_pkg::FORBIDDEN_STAGE;
  import jf_pkg::ERROR_WORD;
#(
    parameter int unsigned DataW = 512,
    parameter int unsigned AddrW = 64,
    parameter int unsigned MaxFrames = 1024,  // frames under way at a time
    parameter bit Correct = 1'b1,
    parameter int unsigned MaxBurst = 256,  // beats of the longest burst

    localparam int unsigned KeepW = DataW / 8
) (
    input logic clk,
    input logic rst,

    // Constant while it runs: from before the first frame to behind the last one
    input correction_t correction_i,
    input logic        run_i,
    input logic        abort_i,       // nothing waits for constants any more: frames fail

    input  logic [DataW-1:0] s_axis_tdata,
    input  logic [KeepW-1:0] s_axis_tkeep,
    input  logic             s_axis_tlast,
    input  logic [  AddrW:0] s_axis_tuser,   // {with tlast: the frame fails in any case, with its first beat: address}
    input  logic             s_axis_tvalid,
    output logic             s_axis_tready,

    // AXI4 write masters: raw images
    output axi_write_request_t              m_axi_o,
    input  axi_write_response_t             m_axi_i,
    output logic                [DataW-1:0] m_axi_wdata,
    output logic                [KeepW-1:0] m_axi_wstrb,

    // Corrected images
    output axi_write_request_t              m_axi_corrected_o,
    input  axi_write_response_t             m_axi_corrected_i,
    output logic                [DataW-1:0] m_axi_corrected_wdata,
    output logic                [KeepW-1:0] m_axi_corrected_wstrb,

    // AXI4 read masters: the planes of the constants
    output axi_read_request_t  [PLANES-1:0]            m_axi_constant_o,
    input  axi_read_response_t [PLANES-1:0]            m_axi_constant_i,
    input  logic               [PLANES-1:0][DataW-1:0] m_axi_constant_rdata,

    // A frame is through; with it, whether it failed
    output logic done_o,
    output logic failed_o,

    output logic constant_error_o,  // pulse: a beat of constants came with an error

    output logic idle_o  // no read of constants is outstanding, nor will be while it does not run
);

  localparam int unsigned ITEM_W = DataW + KeepW + 1 + AddrW + 1;

  logic [ITEM_W-1:0] raw_item;
  logic raw_valid, raw_ready, raw_done, raw_failed;

  s2mm #(
      .DataW(DataW),
      .AddrW(AddrW),
      .MaxBurst(MaxBurst)
  ) u_raw (
      .clk,
      .rst,
      .s_axis_tdata (raw_item[ITEM_W-1-:DataW]),
      .s_axis_tkeep (raw_item[AddrW+2+:KeepW]),
      .s_axis_tlast (raw_item[AddrW+1]),
      .s_axis_tuser (raw_item[AddrW:0]),
      .s_axis_tvalid(raw_valid),
      .s_axis_tready(raw_ready),
      .m_axi_o,
      .m_axi_i,
      .m_axi_wdata,
      .m_axi_wstrb,
      .done_o       (raw_done),
      .failed_o     (raw_failed)
  );

  if (!Correct) begin : gen_raw
    assign raw_item = {s_axis_tdata, s_axis_tkeep, s_axis_tlast, s_axis_tuser};
    assign raw_valid = s_axis_tvalid;
    assign s_axis_tready = raw_ready;
    assign done_o = raw_done;
    assign failed_o = raw_failed;
    assign idle_o = 1'b1;
    assign constant_error_o = 1'b0;
    assign {m_axi_corrected_o, m_axi_corrected_wdata, m_axi_corrected_wstrb, m_axi_constant_o} = '0;

    logic unused;
    assign unused = ^{correction_i, run_i, abort_i, m_axi_corrected_i, m_axi_constant_i, m_axi_constant_rdata};
  end else begin : gen_both
    localparam int unsigned RAW = 0;
    localparam int unsigned CORRECTED = 1;

    // The same pixels twice; the second ones with their own address
    logic [DataW-1:0] guarded;
    logic [1:0] mask, item_valid, item_ready;

    for (genvar k = 0; k < DataW / 16; k++) begin : gen_guard
      logic [15:0] word;
      assign word = s_axis_tdata[16*k+:16];
      assign guarded[16*k+:16] = correction_i.guard && word[15:14] == FORBIDDEN_STAGE ? ERROR_WORD : word;
    end

    assign mask = {correction_i.enabled, 1'b1};
    assign raw_valid = item_valid[RAW];
    assign item_ready[RAW] = raw_ready;

    axis_fork #(
        .DataW(ITEM_W),
        .Sinks(2)
    ) u_fork (
        .clk,
        .rst,
        .s_axis_tdata ({guarded, s_axis_tkeep, s_axis_tlast, s_axis_tuser}),
        .s_axis_tuser (mask),
        .s_axis_tvalid,
        .s_axis_tready,
        .m_axis_tdata (raw_item),
        .m_axis_tvalid(item_valid),
        .m_axis_tready(item_ready)
    );

    // Constants
    logic [PLANES-1:0][DataW-1:0] constant_tdata;
    logic constant_tlast, constant_tuser, constant_tvalid, constant_tready, running, aborting, aborting_q;

    // From an abort on, constants do not count any more: pixels that find theirs or not would fall out of step.
    assign running = run_i && correction_i.enabled;
    assign aborting = abort_i || aborting_q;
    assign constant_error_o = constant_tvalid && constant_tready && constant_tuser && !aborting;

    always_ff @(posedge clk) aborting_q <= aborting && running && !rst;

    jf_constants #(
        .DataW(DataW),
        .AddrW(AddrW),
        .MaxBurst(MaxBurst)
    ) u_constants (
        .clk,
        .rst,
        .run_i                 (running),
        .base_i                (correction_i.base),
        .pitch_i               (correction_i.pitch),
        .image_bytes_i         (correction_i.image_bytes),
        .m_axis_constant_tdata (constant_tdata),
        .m_axis_constant_tlast (constant_tlast),
        .m_axis_constant_tuser (constant_tuser),
        .m_axis_constant_tvalid(constant_tvalid),
        .m_axis_constant_tready(constant_tready),
        .m_axi_o               (m_axi_constant_o),
        .m_axi_i               (m_axi_constant_i),
        .m_axi_rdata           (m_axi_constant_rdata),
        .idle_o
    );

    // Corrected
    logic [DataW-1:0] pixel_tdata;
    logic [KeepW-1:0] pixel_tkeep;
    logic [AddrW:0] pixel_tuser;
    logic pixel_tlast, pixel_tvalid, pixel_tready;
    logic unused_mismatch;  // frame_store tells which frames have another length

    jf_correct #(
        .DataW(DataW),
        .UserW(AddrW + 1)
    ) u_correct (
        .clk,
        .rst                   (rst || !running),
        .shift_i               (correction_i.shift),
        .high_gain_i           (correction_i.high_gain),
        .s_axis_pixel_tdata    (raw_item[ITEM_W-1-:DataW]),
        .s_axis_pixel_tkeep    (raw_item[AddrW+2+:KeepW]),
        .s_axis_pixel_tlast    (raw_item[AddrW+1]),
        .s_axis_pixel_tuser    ({raw_item[AddrW] || aborting, raw_item[AddrW-1:0] + AddrW'(correction_i.offset)}),
        .s_axis_pixel_tvalid   (item_valid[CORRECTED]),
        .s_axis_pixel_tready   (item_ready[CORRECTED]),
        .s_axis_constant_tdata (constant_tdata),
        .s_axis_constant_tlast (constant_tlast || aborting),
        .s_axis_constant_tuser (constant_tuser || aborting),
        .s_axis_constant_tvalid(constant_tvalid || aborting),
        .s_axis_constant_tready(constant_tready),
        .m_axis_pixel_tdata    (pixel_tdata),
        .m_axis_pixel_tkeep    (pixel_tkeep),
        .m_axis_pixel_tlast    (pixel_tlast),
        .m_axis_pixel_tuser    (pixel_tuser),
        .m_axis_pixel_tvalid   (pixel_tvalid),
        .m_axis_pixel_tready   (pixel_tready),
        .mismatch_o            (unused_mismatch)
    );

    logic corrected_done, corrected_failed;

    s2mm #(
        .DataW(DataW),
        .AddrW(AddrW),
        .MaxBurst(MaxBurst)
    ) u_corrected (
        .clk,
        .rst,
        .s_axis_tdata (pixel_tdata),
        .s_axis_tkeep (pixel_tkeep),
        .s_axis_tlast (pixel_tlast),
        .s_axis_tuser (pixel_tuser),
        .s_axis_tvalid(pixel_tvalid),
        .s_axis_tready(pixel_tready),
        .m_axi_o      (m_axi_corrected_o),
        .m_axi_i      (m_axi_corrected_i),
        .m_axi_wdata  (m_axi_corrected_wdata),
        .m_axi_wstrb  (m_axi_corrected_wstrb),
        .done_o       (corrected_done),
        .failed_o     (corrected_failed)
    );

    // A frame is through when both its images are. There are never more than MaxFrames to wait for. What waits is forgotten a cycle
    // behind the reset, which drives enough without it; nothing ends so soon.
    (* keep *)logic rst_q;
    logic [1:0] ended, failed, ended_valid;
    logic [1:0] unused;

    always_ff @(posedge clk) rst_q <= rst;

    assign ended = {corrected_done && correction_i.enabled, raw_done};

    axis_fifo #(
        .DataW(1),
        .Depth(MaxFrames)
    ) u_raw_ended (
        .clk,
        .rst          (rst_q),
        .s_axis_tdata (raw_failed),
        .s_axis_tvalid(ended[RAW]),
        .s_axis_tready(unused[RAW]),
        .m_axis_tdata (failed[RAW]),
        .m_axis_tvalid(ended_valid[RAW]),
        .m_axis_tready(done_o)
    );

    axis_fifo #(
        .DataW(1),
        .Depth(MaxFrames)
    ) u_corrected_ended (
        .clk,
        .rst          (rst_q),
        .s_axis_tdata (corrected_failed),
        .s_axis_tvalid(ended[CORRECTED]),
        .s_axis_tready(unused[CORRECTED]),
        .m_axis_tdata (failed[CORRECTED]),
        .m_axis_tvalid(ended_valid[CORRECTED]),
        .m_axis_tready(done_o && correction_i.enabled)
    );

    assign done_o = !rst_q && ended_valid[RAW] && (ended_valid[CORRECTED] || !correction_i.enabled);
    assign failed_o = failed[RAW] || (failed[CORRECTED] && correction_i.enabled);
  end

endmodule
